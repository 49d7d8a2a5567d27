import { isJsonObject, type Json } from "../core/json.ts";
import type { FileReference } from "../core/message.ts";
import { numberIn, textIn } from "./event-facts.ts";
import { counted } from "./figures.ts";

/** What people see of a file in a message. Its bytes are never shown. */
export type ShownFile = {
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  readonly hash: string;
};

/** A file in the facts of an event; null if it is none. */
export function fileIn(item: Json): ShownFile | null {
  if (!isJsonObject(item)) return null;
  const [mediaType, size, hash] = [textIn(item, "mediaType"), numberIn(item, "size"), textIn(item, "hash")];
  if (mediaType === null || size === null || hash === null) return null;
  return { name: textIn(item, "filename") ?? NO_NAME, mediaType, size, hash };
}

/** A file of a stored message. */
export function shownFile({ filename, mediaType, size, blobId }: FileReference): ShownFile {
  return { name: filename ?? NO_NAME, mediaType, size, hash: blobId };
}

/** Of a file without a name. */
export const NO_NAME = "(no name)";

/** `cat.png (image/png, 1,200 bytes, SHA-256 6f2c…)`. */
export function fileText({ name, mediaType, size, hash }: ShownFile): string {
  return `${name} (${mediaType}, ${counted(size, "byte")}, SHA-256 ${hash})`;
}
