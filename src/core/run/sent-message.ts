import { blobReferenceOf } from "../blob-reference.ts";
import { ConfigurationError, MessageRefusedError } from "../errors.ts";
import type { Json } from "../json.ts";
import {
  type FileReference,
  filesIn,
  type StoredUserMessage,
  storedParts,
  type UserFilePart,
  type UserMessage,
  type UserTextPart,
} from "../message.ts";
import { assertOptions, kindOf, type OptionNames } from "../naming/option-names.ts";

// A text of a user, with or without files: what its sender gives, and what is stored of it.

/** The bytes of a file, and the blob that they become. */
export type MessageFile = { readonly blobId: string; readonly bytes: Uint8Array };

/** The most that the files of a message have together: a request to a model can hardly be larger. */
export const MAX_MESSAGE_BYTES = 20_000_000;
/** The most that the texts of a message have together, as UTF-8: more than the context of any model. */
export const MAX_TEXT_BYTES = 1_048_576;
/** The most parts of a message. */
export const MAX_MESSAGE_PARTS = 32;
const MAX_FILENAME = 255;

const MESSAGE_NAMES = { parts: true } satisfies OptionNames<UserMessage>;
const TEXT_NAMES = { type: true, text: true } satisfies OptionNames<UserTextPart>;
const FILE_NAMES = {
  type: true,
  mediaType: true,
  data: true,
  filename: true,
} satisfies OptionNames<UserFilePart>;
const OTHER_FILE_NAMES = {
  url: "data, with the bytes of the file",
  image: "data",
  bytes: "data",
  mimeType: "mediaType",
  contentType: "mediaType",
  name: "filename",
};

/** Checks a message with parts as its sender gives it. The same bytes twice are one blob. */
export function readUserMessage(given: unknown): {
  readonly body: StoredUserMessage;
  readonly files: readonly MessageFile[];
} {
  assertOptions("The message", given, MESSAGE_NAMES, { content: "parts", files: "parts" });
  const { parts } = given as { readonly parts: unknown };
  if (!Array.isArray(parts) || parts.length === 0)
    throw new ConfigurationError(
      `The parts of the message are ${kindOf(parts)}: give a list with at least one text or file.`,
    );
  assertPartCount(parts.length);
  const files = new Map<string, Uint8Array>();
  const stored = (parts as readonly unknown[]).map((part, i) => {
    const where = `Part ${i + 1} of the message`;
    const type = typeof part === "object" && part !== null && "type" in part ? part.type : undefined;
    if (type === "text") return textPart(where, part);
    if (type !== "file")
      throw new ConfigurationError(
        `${where} has type ${JSON.stringify(type)}: use { type: "text", text } or { type: "file", mediaType, data }.`,
      );
    const { reference, bytes } = filePart(where, part);
    files.set(reference.blobId, bytes);
    return reference;
  });
  const message = {
    body: { parts: stored },
    files: [...files].map(([blobId, bytes]) => ({ blobId, bytes })),
  };
  assertTotal(message.files);
  assertTextSize(textsIn(message.body));
  return message;
}

/** Checks a message that is a text. */
export function readUserText(text: string): string {
  assertNotBlank([text]);
  assertTextSize([text]);
  return text;
}

function textPart(where: string, given: unknown): UserTextPart {
  assertOptions(where, given, TEXT_NAMES);
  const { text } = given as { readonly text: unknown };
  // Providers refuse an empty text.
  if (typeof text !== "string" || isBlank(text))
    throw new ConfigurationError(`${where} has no text: give one, or leave the part out.`);
  return { type: "text", text };
}

function filePart(
  where: string,
  given: unknown,
): { readonly reference: FileReference; readonly bytes: Uint8Array } {
  assertOptions(where, given, FILE_NAMES, OTHER_FILE_NAMES);
  const { mediaType, data, filename } = given as { readonly [name in keyof UserFilePart]: unknown };
  const type = mediaTypeOf(where, mediaType);
  const bytes = bytesOf(where, data, type);
  if (bytes.byteLength === 0) throw new ConfigurationError(`${where} is an empty file: leave it out.`);
  const name = filename === undefined ? {} : { filename: filenameOf(where, filename) };
  return { reference: { type: "file", mediaType: type, ...blobReferenceOf(bytes), ...name }, bytes };
}

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

function mediaTypeOf(where: string, given: unknown): string {
  const type = typeof given === "string" ? given.toLowerCase() : "";
  if (MEDIA_TYPE.test(type)) return type;
  throw new ConfigurationError(
    `${where} has mediaType ${JSON.stringify(given)}: give the whole type without parameters, such as "image/png".`,
  );
}

/** Shown to people and given to the model. It names no file of this machine, so it must not look like a path. */
function filenameOf(where: string, given: unknown): string {
  const isName =
    typeof given === "string" &&
    given.trim() !== "" &&
    given.length <= MAX_FILENAME &&
    !/[/\\\p{Cc}]/u.test(given);
  if (isName) return given;
  throw new ConfigurationError(
    `${where} has filename ${JSON.stringify(given)}: give a name of at most ${MAX_FILENAME} characters, without a path.`,
  );
}

function bytesOf(where: string, data: unknown, mediaType: string): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (data instanceof URL || (typeof data === "string" && /^[a-z][a-z0-9+.-]+:\/\//i.test(data)))
    throw new ConfigurationError(
      `${where} is the address of a file: read the file and give its bytes, since Pawl downloads nothing that people send.`,
    );
  if (typeof data !== "string")
    throw new ConfigurationError(
      `${where} has data that is ${kindOf(data)}: give a Uint8Array, base64 or a data: URL.`,
    );
  const base64 = data.startsWith("data:") ? base64In(where, data, mediaType) : data;
  if (base64.length > MAX_MESSAGE_BYTES * 2) throw tooLarge(`more than ${megabytes(MAX_MESSAGE_BYTES)}`);
  const bytes = Buffer.from(base64, "base64");
  // The decoder skips what is no base64: such a file would be another one than its sender gave.
  if (unpadded(bytes.toString("base64")) === unpadded(base64)) return bytes;
  throw new ConfigurationError(
    `${where} has data that is no base64: give a Uint8Array, base64 or a data: URL.`,
  );
}

function base64In(where: string, url: string, mediaType: string): string {
  const comma = url.indexOf(",");
  const [type = "", ...parameters] = url.slice("data:".length, Math.max(comma, 0)).split(";");
  if (comma === -1 || parameters.at(-1) !== "base64")
    throw new ConfigurationError(`${where} has a data: URL that is not base64: give the bytes of the file.`);
  if (type.toLowerCase() !== mediaType)
    throw new ConfigurationError(
      `${where} has mediaType ${JSON.stringify(mediaType)}, and its data: URL has ${JSON.stringify(type)}: give the same type.`,
    );
  return url.slice(comma + 1);
}

function unpadded(base64: string): string {
  return base64.replace(/={1,2}$/, "");
}

/** Checks the body of a text as the store gets it, with the files that it refers to. */
export function assertStoredText(body: Json, files: readonly MessageFile[]): void {
  const parts = storedParts(body);
  if (typeof body !== "string" && (parts === null || parts.length === 0))
    throw new MessageRefusedError(
      `The message is ${shortJson(body)}: give a text, a text with files, or an event.`,
      { reason: "no_text" },
    );
  assertPartCount(parts?.length ?? 0);
  assertNotBlank(textsIn(body));
  assertTextSize(textsIn(body));
  assertTotal(files);
  const given = new Map(files.map(({ blobId, bytes }) => [blobId, bytes.byteLength]));
  const referred = filesIn(body);
  const lost = referred.find(({ blobId, size }) => given.get(blobId) !== size);
  const isUnused = [...given.keys()].some((id) => referred.every(({ blobId }) => blobId !== id));
  if (lost !== undefined || isUnused)
    throw new MessageRefusedError(
      `The message refers to ${lost === undefined ? "fewer files than it has" : `file ${lost.blobId}, which it does not have`}: send each file with its reference.`,
      { reason: "files" },
    );
}

function assertPartCount(count: number): void {
  if (count > MAX_MESSAGE_PARTS)
    throw new MessageRefusedError(
      `The message has ${count} parts, and at most ${MAX_MESSAGE_PARTS} are taken: send several messages.`,
      { reason: "too_many_parts" },
    );
}

function textsIn(body: Json): readonly string[] {
  if (typeof body === "string") return [body];
  return (storedParts(body) ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Providers refuse an empty text, and some of them a blank one. */
function assertNotBlank(texts: readonly string[]): void {
  if (texts.some(isBlank))
    throw new MessageRefusedError("The message has an empty text: write something, or send files alone.", {
      reason: "no_text",
    });
}

function assertTextSize(texts: readonly string[]): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_TEXT_BYTES)
    throw new MessageRefusedError(
      `The texts of the message have ${counted(bytes)} bytes, and at most ${counted(MAX_TEXT_BYTES)} are taken: send a shorter text, or the long one as a file.`,
      { reason: "text_too_large" },
    );
}

function counted(bytes: number): string {
  return bytes.toLocaleString("en");
}

function assertTotal(files: readonly MessageFile[]): void {
  const total = files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (total > MAX_MESSAGE_BYTES) throw tooLarge(megabytes(total));
}

/** The error for files that are too large together. */
function tooLarge(size: string): MessageRefusedError {
  return new MessageRefusedError(
    `The files of the message have ${size}, and at most ${megabytes(MAX_MESSAGE_BYTES)} are taken: send smaller ones.`,
    { reason: "too_large" },
  );
}

export function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 100_000) / 10} MB`;
}

function shortJson(body: Json): string {
  const json = JSON.stringify(body);
  return json.length <= 200 ? json : `${json.slice(0, 200)}…`;
}
