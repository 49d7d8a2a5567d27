/** A customer without a browser: the transport of the page works in Node, too. */
import { isToolUIPart, readUIMessageStream, type UIMessage } from "ai";
import { PawlChatTransport } from "../../src/adapters/chat/pawl-chat-transport.ts";
import { compare } from "../demo.ts";
import type { Shop } from "./shop.ts";

const CHAT = "self-test";

type Outside = {
  readonly url: string;
  readonly shop: Shop;
  /** Kills the server and both workers, which are started again. */
  readonly killAll: () => Promise<void>;
};

export async function talkToItself({ url, shop, killAll }: Outside): Promise<void> {
  const api = `${url}/api/chat`;
  const headers = { cookie: "customer=ann" };
  const transport = new PawlChatTransport<UIMessage>({ api, headers });
  const messages: UIMessage[] = [];

  /** Sends the last message, and shows the answer. `whileWritten` is called once, at its first word. */
  async function answer(whileWritten: () => Promise<void> = () => Promise.resolve()): Promise<UIMessage> {
    const last = messages.at(-1);
    const stream = await transport.sendMessages({
      chatId: CHAT,
      messages,
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: undefined,
    });
    let written: Promise<void> | null = null;
    let shown: UIMessage | undefined = last?.role === "assistant" ? last : undefined;
    for await (const message of readUIMessageStream({
      stream,
      ...(shown === undefined ? {} : { message: shown }),
    })) {
      shown = message;
      if (textOf(message) !== "") written ??= whileWritten();
    }
    await written;
    if (shown === undefined) throw new Error("The stream ended without a message.");
    messages.splice(last?.role === "assistant" ? -1 : messages.length, 1, shown);
    console.log(`  clerk: ${textOf(shown)}`);
    return shown;
  }

  const say = (text: string) => {
    console.log(`  ann: ${text}`);
    messages.push({ id: `message-${messages.length + 1}`, role: "user", parts: [{ type: "text", text }] });
  };

  say("What can you do?");
  await answer(async () => {
    console.log("  (kill -9 of the server and both workers, in the middle of the answer)");
    await killAll();
  });
  say("Please refund A-17.");
  const asked = await answer();
  console.log("  (the page shows Approve and Deny; Ann approves)");
  messages.splice(-1, 1, approved(asked));
  await answer();

  const response = await fetch(`${api}/${CHAT}/messages`, { headers });
  const stored = ((await response.json()) as { readonly messages: readonly UIMessage[] }).messages;
  const isSame = (message: UIMessage, i: number) => textOf(message) === textOf(messages[i]);
  compare(
    [
      ["messages stored", 4, stored.length],
      ["messages that Ann sees as they are stored", 4, stored.filter(isSame).length],
      ["refunds, by the shop's own count", 1, shop.refunds.length],
    ],
    "Everything was killed once, and each message has one whole answer.",
  );
}

function approved(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) =>
    isToolUIPart(part) && part.state === "approval-requested"
      ? { ...part, state: "approval-responded" as const, approval: { id: part.approval.id, approved: true } }
      : part,
  );
  return { ...message, parts };
}

function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}
