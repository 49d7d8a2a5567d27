/** What the page asks the server beside the streams of `useChat`. */
import type { UIMessage } from "ai";

export const API = "/api/chat";

/** How a message reaches an agent that is busy: after this answer, or into it. */
export type BusyMode = "queue" | "steer";

/** A message that the agent has not begun to answer. */
export type WaitingMessage = { readonly id: string; readonly text: string; readonly mode: BusyMode };

export type StoredChat = {
  readonly messages: readonly UIMessage[];
  /** Those at the end, in order. */
  readonly waiting: readonly WaitingMessage[];
};

const at = (chatId: string, what: string) => `${API}/${encodeURIComponent(chatId)}/${what}`;

export async function loadChat(chatId: string): Promise<StoredChat> {
  const response = await fetch(at(chatId, "messages"));
  if (response.status === 404) return { messages: [], waiting: [] };
  if (!response.ok) throw new Error(await response.text());
  const { messages } = (await response.json()) as { readonly messages: readonly UIMessage[] };
  const answered = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  return {
    messages: messages.slice(0, answered),
    waiting: messages
      .slice(answered)
      .map((message) => ({ id: message.id, text: textOf(message), mode: "queue" })),
  };
}

/** Stores a message for an agent that is busy. The same id again changes nothing. */
export async function sendWhileBusy(chatId: string, message: WaitingMessage): Promise<void> {
  await post(at(chatId, "messages"), message);
}

/** Ends the present answer, and not the chat. */
export async function stopAnswer(chatId: string): Promise<void> {
  await post(at(chatId, "stop"), {});
}

async function post(url: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
}

export function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
