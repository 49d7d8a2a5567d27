import type { UIMessage } from "ai";
import { ConfigurationError, MessageRefusedError } from "../../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { UserMessage, UserPart } from "../../../core/message.ts";
import { readUserMessage } from "../../../core/run/sent-message.ts";
import type { MessageMode } from "../../../store/store.ts";
import { ChatProblem } from "./chat-problem.ts";
import { assertId } from "./chat-room.ts";

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
  readonly content: string | UserMessage;
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
  return { kind: "approvals", chatId: id, messageId: typeof last.id === "string" ? last.id : "", answers };
}

/** Reads a user's message. */
export function readMessage(message: JsonObject, mode: Json | undefined): NewChatMessage {
  const { id, parts, text } = message;
  if (typeof id !== "string") throw new ChatProblem(400, "The message has no id: give it one.");
  assertId("message", id);
  const content = typeof text === "string" ? text : contentOf(parts ?? null);
  assertWellFormed(content);
  if (typeof content === "string" && content.trim() === "")
    throw new ChatProblem(400, "The message is empty: write something.");
  return { id, content, mode: readMode(mode) };
}

function contentOf(parts: Json): string | UserMessage {
  if (!Array.isArray(parts)) throw new ChatProblem(400, "The message has no parts: give it a text.");
  const read = (parts as readonly Json[]).map(readPart);
  const texts = read.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length === read.length) return texts.join("\n\n");
  assertFiles({ parts: read });
  return { parts: read };
}

/** What is wrong with a file is the page's fault, and is said before anything is sent. */
function assertFiles(message: UserMessage): void {
  try {
    readUserMessage(message);
  } catch (error) {
    if (ConfigurationError.isInstance(error) || MessageRefusedError.isInstance(error))
      throw new ChatProblem(400, error.message);
    throw error;
  }
}

/** Half of a character, which a broken page can send, cannot be stored. */
function assertWellFormed(content: string | UserMessage): void {
  const texts = typeof content === "string" ? [content] : content.parts.map(textOfPart);
  if (!texts.every((text) => text.isWellFormed()))
    throw new ChatProblem(400, "The message has half of a character in it: send whole ones.");
}

function textOfPart(part: UserPart): string {
  return part.type === "text" ? part.text : (part.filename ?? "");
}

/** A text, or a file whose bytes are in its address. */
function readPart(part: Json): UserPart {
  const { type, text, mediaType, url, filename }: JsonObject = isJsonObject(part) ? part : {};
  if (type === "text" && typeof text === "string") return { type, text };
  if (type !== "file" || typeof mediaType !== "string" || typeof url !== "string")
    throw new ChatProblem(
      400,
      `The message has a part of the type ${JSON.stringify(type ?? null)}: send texts and files.`,
    );
  if (!url.startsWith("data:"))
    throw new ChatProblem(400, "The message has a file that is elsewhere: send its bytes, as a data: URL.");
  return { type, mediaType, data: url, ...(typeof filename === "string" ? { filename } : {}) };
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
