import type { UIMessage } from "ai";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { MessageMode } from "../../../store/store.ts";
import { ChatProblem } from "./chat-problem.ts";

/** What a page wants: to say something, or to answer requests for approval. Nothing else of the request's body is believed. */
export type ChatRequest =
  | { readonly kind: "message"; readonly chatId: string; readonly message: NewChatMessage }
  | {
      readonly kind: "approvals";
      readonly chatId: string;
      /** The message that asks for them. */
      readonly messageId: string;
      readonly answers: readonly ApprovalAnswer[];
    };

export type NewChatMessage = {
  readonly id: string;
  readonly text: string;
  readonly mode: MessageMode | undefined;
};

/** The user's answer to a request for approval. */
export type ApprovalAnswer = {
  readonly waitId: string;
  readonly approved: boolean;
  readonly reason: string | null;
};

/** Reads the body of `POST {api}`, as `useChat` sends it. */
export function readChatRequest(body: JsonObject): ChatRequest {
  const { id, messages, trigger } = body;
  if (typeof id !== "string") throw new ChatProblem(400, 'The body has no "id": give the id of the chat.');
  if (trigger === "regenerate-message")
    throw new ChatProblem(
      400,
      "An answer cannot be regenerated: it is stored, and its tools have run. Send another message.",
    );
  const last = Array.isArray(messages) ? (messages as readonly Json[]).at(-1) : undefined;
  if (last === undefined || !isJsonObject(last))
    throw new ChatProblem(
      400,
      'The body has no "messages": give the messages of the chat, the new one last.',
    );
  if (last.role === "user") return { kind: "message", chatId: id, message: readMessage(last, body.mode) };
  const answers = last.role === "assistant" ? answersIn(last) : [];
  if (answers.length === 0)
    throw new ChatProblem(
      400,
      "The last message is neither a user's nor one with answers to requests for approval: there is nothing to do.",
    );
  return { kind: "approvals", chatId: id, messageId: String(last.id), answers };
}

/** Reads a user's message. */
export function readMessage(message: JsonObject, mode: Json | undefined): NewChatMessage {
  const { id, parts, text: given } = message;
  if (typeof id !== "string" || id === "") throw new ChatProblem(400, "The message has no id: give it one.");
  const text = typeof given === "string" ? given : textIn(parts ?? null);
  if (text.trim() === "") throw new ChatProblem(400, "The message is empty: write something.");
  return { id, text, mode: readMode(mode) };
}

function textIn(parts: Json): string {
  if (!Array.isArray(parts)) throw new ChatProblem(400, "The message has no parts: give it a text.");
  const texts = (parts as readonly Json[]).map((part) => {
    const { type, text }: JsonObject = isJsonObject(part) ? part : {};
    if (type === "text" && typeof text === "string") return text;
    throw new ChatProblem(400, `The message has a part of the type ${JSON.stringify(type)}: send texts.`);
  });
  return texts.join("\n\n");
}

const MODES: readonly string[] = ["queue", "steer", "interrupt"] satisfies MessageMode[];

function readMode(mode: Json | undefined): MessageMode | undefined {
  if (mode === undefined || mode === null) return undefined;
  if (typeof mode === "string" && MODES.includes(mode)) return mode as MessageMode;
  throw new ChatProblem(400, `The message has the mode ${JSON.stringify(mode)}: use ${MODES.join(", ")}.`);
}

/** The answers of an assistant's message. What the page says about the call itself is not read. */
function answersIn({ parts }: JsonObject): ApprovalAnswer[] {
  return (Array.isArray(parts) ? (parts as readonly Json[]) : []).flatMap((part) => {
    if (!isJsonObject(part) || part.state !== ("approval-responded" satisfies ToolState)) return [];
    const { id, approved, reason }: JsonObject = isJsonObject(part.approval ?? null)
      ? (part.approval as JsonObject)
      : {};
    if (typeof id !== "string" || typeof approved !== "boolean") return [];
    return [{ waitId: id, approved, reason: typeof reason === "string" && reason !== "" ? reason : null }];
  });
}

type ToolState = Extract<
  UIMessage["parts"][number],
  { readonly state: string; readonly toolCallId: string }
>["state"];
