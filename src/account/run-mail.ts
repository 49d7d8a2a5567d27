import { type FileReference, filesIn } from "../core/message.ts";
import type { MessageRecord, MessageStatus, StoreReader } from "../store/store.ts";

// What is in the mailbox of a run.

/** How many messages of a run there are, by status. */
export type MailCounts = ReadonlyMap<MessageStatus, number>;

const PAGE = 200;

/** Every message to a run, a page at a time. */
export async function* messagesOf(
  store: StoreReader,
  runId: string,
): AsyncGenerator<MessageRecord, void, undefined> {
  let after = 0;
  for (;;) {
    const page = await store.listMessages(runId, { after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.messageNo;
  }
}

/** A file that was sent with a message. */
export type ReceivedFile = FileReference & { readonly messageNo: number };

/** The files in the messages to a run; `onEach` gets every message. */
export async function* receivedFiles(
  store: StoreReader,
  runId: string,
  onEach: (message: MessageRecord) => void,
): AsyncGenerator<ReceivedFile, void, undefined> {
  for await (const message of messagesOf(store, runId)) {
    onEach(message);
    if (message.event === null)
      for (const file of filesIn(message.body)) yield { ...file, messageNo: message.messageNo };
  }
}
