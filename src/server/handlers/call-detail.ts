import { callStory } from "../../account/story/call-story.ts";
import type { StoreReader, ToolCallRecord } from "../../store/store.ts";
import { callAttemptDocument, callDocument } from "../documents/ledger-documents.ts";

/** A call has few attempts: its tool decides how often it is retried. */
const MOST_ATTEMPTS = 100;

/** A call, with its attempts, and why it did or did not happen again. */
export async function readCallDetail(
  store: Pick<StoreReader, "listToolCallAttempts" | "listWaits">,
  runId: string,
  call: ToolCallRecord,
) {
  const { toolCallId } = call;
  const after = { toolCallId, attempt: 0 };
  const tried = await store.listToolCallAttempts(runId, { after, limit: MOST_ATTEMPTS });
  const attempts = tried.filter((attempt) => attempt.toolCallId === toolCallId);
  const waits = (await store.listWaits(runId)).filter((wait) => wait.toolCallId === toolCallId);
  return {
    ...callDocument(call),
    attempts: attempts.map(callAttemptDocument),
    story: callStory(call, attempts, waits),
    waitId: waits.find(({ status }) => status === "open")?.waitId ?? null,
  };
}
