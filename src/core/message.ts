import type { BlobReference } from "./blob-reference.ts";
import { isJsonList, isJsonObject, type Json, type JsonObject } from "./json.ts";

/**
 * The conversation, in the shape of the AI SDK's `ModelMessage` restricted to JSON, so that the stored form is the one that
 * users know. Parts of a response that Pawl has no type for are kept unchanged. A file of a user is a reference to its
 * bytes.
 */
export type Message<File = FileReference> =
  | SystemMessage
  | SaidMessage<File>
  | AssistantMessage
  | ToolMessage;
export type SystemMessage = { readonly role: "system"; readonly content: string };
/** What a user says: a text, or several parts. */
export type SaidMessage<File = FileReference> =
  | { readonly role: "user"; readonly content: string }
  | SaidParts<File>;
export type SaidParts<File = FileReference> = {
  readonly role: "user";
  readonly content: readonly (UserTextPart | File)[];
};
export type AssistantMessage = { readonly role: "assistant"; readonly content: readonly AssistantPart[] };
type ToolMessage = { readonly role: "tool"; readonly content: readonly [ToolResultPart] };

/** A part of a model's response: a text, a tool call, reasoning or a file, as the provider sent it. */
export type AssistantPart = JsonObject & { readonly type: string };
export type TextPart = AssistantPart & { readonly type: "text"; readonly text: string };
export type ToolCallPart = AssistantPart & {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
};

export type ToolResultPart = {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
};
/** A tool's result, as the model sees it. */
export type ToolOutput =
  | { readonly type: "json"; readonly value: Json }
  | { readonly type: "text"; readonly value: string }
  /** Several parts, such as a text and an image, in the AI SDK's shape. */
  | { readonly type: "content"; readonly value: Json }
  | { readonly type: "error-text"; readonly value: string };

export function isTextPart(part: AssistantPart): part is TextPart {
  return part.type === "text" && typeof part.text === "string";
}

/** A call that Pawl has to run. A call that the provider runs itself is only a part of the response. */
export function isToolCallPart(part: AssistantPart): part is ToolCallPart {
  return part.type === "tool-call" && part.providerExecuted !== true;
}

/** A call that the provider ran itself, and its output: null if that is not in the same response. */
export type ProviderCall = { readonly part: ToolCallPart; readonly output: JsonObject | null };

/**
 * The calls of a response that the provider ran, in order. A result whose call was in an earlier response becomes a call of
 * its own, without arguments.
 */
export function providerCallsOf(content: readonly AssistantPart[]): ProviderCall[] {
  const outputs = new Map(
    content.filter(isProviderResult).map((part) => [part.toolCallId, part.output] as const),
  );
  const calls = content.filter(isProviderCallPart);
  const here = new Set(calls.map(({ toolCallId }) => toolCallId));
  const deferred = content.filter(isProviderResult).filter(({ toolCallId }) => !here.has(toolCallId));
  return [
    ...calls.map((part) => ({ part, output: outputs.get(part.toolCallId) ?? null })),
    ...deferred.map(({ toolCallId, toolName, output }) => ({
      part: { type: "tool-call", toolCallId, toolName, input: null, providerExecuted: true } as const,
      output,
    })),
  ];
}

/** All calls of a response in the order of the ledger: those that Pawl runs, then those that the provider ran. */
export function ledgerCallsOf(content: readonly AssistantPart[]): ToolCallPart[] {
  return [...toolCallsOf(content), ...providerCallsOf(content).map(({ part }) => part)];
}

function isProviderCallPart(part: AssistantPart): part is ToolCallPart {
  return part.type === "tool-call" && part.providerExecuted === true;
}

type ProviderResultPart = AssistantPart & {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: JsonObject;
};

/** A response contains no results but those of the provider's own calls. */
function isProviderResult(part: AssistantPart): part is ProviderResultPart {
  return part.type === "tool-result" && isJsonObject(part.output);
}

export function textOf(content: readonly AssistantPart[]): string {
  return content
    .filter(isTextPart)
    .map((part) => part.text)
    .join("");
}

export function toolCallsOf(content: readonly AssistantPart[]): ToolCallPart[] {
  return content.filter(isToolCallPart);
}

/** Two messages of a user as one: two texts stay a text. */
export function joinedMessages<File>(
  { content: first }: SaidMessage<File>,
  { content: second }: Pick<SaidMessage<File>, "content">,
): SaidMessage<File> {
  if (typeof first === "string" && typeof second === "string")
    return { role: "user", content: `${first}\n\n${second}` };
  return { role: "user", content: [...contentParts(first), ...contentParts(second)] };
}

function contentParts<File>(content: SaidMessage<File>["content"]): SaidParts<File>["content"] {
  if (typeof content !== "string") return content;
  // Providers refuse an empty text.
  return content === "" ? [] : [{ type: "text", text: content }];
}

/**
 * A message of a user that has more than a text: pictures and other files, in the order in which the model sees them.
 *
 * @example
 * const invoice: UserMessage = {
 *   parts: [
 *     { type: "text", text: "What is due on this invoice?" },
 *     { type: "file", mediaType: "application/pdf", data: new Uint8Array([37, 80, 68, 70]), filename: "invoice.pdf" },
 *   ],
 * };
 */
export type UserMessage = { readonly parts: readonly UserPart[] };

/** A part of a user's message, in the shape of the AI SDK. */
export type UserPart = UserTextPart | UserFilePart;

/** A text in a user's message. */
export type UserTextPart = { readonly type: "text"; readonly text: string };

/** A picture or another file in a user's message. */
export type UserFilePart = {
  readonly type: "file";
  /** Its whole type, such as `image/png` or `application/pdf`. */
  readonly mediaType: string;
  /** Its bytes; as a string, their base64 or a `data:` URL. An address of a file elsewhere is refused. */
  readonly data: Uint8Array | string;
  /** Its name, for people and the model. It is never a path. */
  readonly filename?: string;
};

/** A file of a user's message, as it is stored: its bytes are a blob of the run. `store.readBlob` reads them. */
export type FileReference = BlobReference & {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
};

/** A user's message with parts, as it is stored. */
export type StoredUserMessage = { readonly parts: readonly (UserTextPart | FileReference)[] };

/** The message with parts that a stored text is; null if it is a plain text. The body of an event is never one. */
export function storedParts(body: Json): StoredUserMessage["parts"] | null {
  if (!isJsonObject(body) || !isJsonList(body.parts ?? null)) return null;
  const parts = body.parts as readonly Json[];
  return parts.every(isStoredPart) ? parts : null;
}

/** The files that a stored text refers to. */
export function filesIn(body: Json): readonly FileReference[] {
  return (storedParts(body) ?? []).filter(isFileReference);
}

/** The texts of a stored text, without its files. */
export function writtenIn(body: Json): string {
  if (typeof body === "string") return body;
  return (storedParts(body) ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

export function isFileReference(part: UserTextPart | FileReference): part is FileReference {
  return part.type === "file";
}

/** True if a message shows the model a file of a user. */
export function hasFiles({ role, content }: Message): boolean {
  return role === "user" && typeof content !== "string" && content.some(isFileReference);
}

const BLOB_ID = /^[0-9a-f]{64}$/;

function isStoredPart(part: Json): part is UserTextPart | FileReference {
  if (!isJsonObject(part)) return false;
  if (part.type === "text") return typeof part.text === "string";
  const { type, blobId, size, mediaType, filename = "" } = part;
  return (
    type === "file" &&
    typeof blobId === "string" &&
    BLOB_ID.test(blobId) &&
    Number.isSafeInteger(size) &&
    typeof mediaType === "string" &&
    typeof filename === "string"
  );
}
