import type { BlobReference } from "./blob-reference.ts";
import { isJsonList, isJsonObject, type Json } from "./json.ts";

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
