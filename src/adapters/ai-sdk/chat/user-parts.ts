import type { FileUIPart, TextUIPart, UIMessageChunk } from "ai";
import { BlobMissingError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { storedParts } from "../../../core/message.ts";
import { readBlobValue } from "../../../engine/run/blob-hydrator.ts";
import type { StoreReader } from "../../../store/store.ts";

type UserUIPart = TextUIPart | FileUIPart;

/** The address of a file whose bytes are not read yet. */
const BLOB = "pawl-blob:";

/** The parts of a user's message on a page, from how the mailbox has it. Files are named by their blobs. */
export function userPartsOf(body: Json): UserUIPart[] {
  if (typeof body === "string") return [{ type: "text", text: body }];
  return (storedParts(body) ?? []).map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const { mediaType, blobId, filename } = part;
    return {
      type: "file",
      mediaType,
      url: `${BLOB}${blobId}`,
      ...(filename === undefined ? {} : { filename }),
    };
  });
}

/** The parts with the bytes of their files in their addresses, as the page has sent them. */
export async function withBytes(
  { store, runId }: { readonly store: StoreReader; readonly runId: string },
  parts: readonly UserUIPart[],
): Promise<UserUIPart[]> {
  const whole: UserUIPart[] = [];
  for (const part of parts) {
    const blobId = part.type === "file" && part.url.startsWith(BLOB) ? part.url.slice(BLOB.length) : null;
    const bytes = blobId === null ? null : await store.readBlob(runId, blobId);
    if (part.type === "text" || bytes === null) whole.push(part);
    else
      whole.push({ ...part, url: `data:${part.mediaType};base64,${Buffer.from(bytes).toString("base64")}` });
  }
  return whole;
}

/** The chunk with what it refers to: the files of a message that joins an answer, a result that is kept as a blob. */
export async function wholeChunk(
  run: { readonly store: StoreReader; readonly runId: string },
  chunk: UIMessageChunk,
): Promise<UIMessageChunk> {
  if (chunk.type === "steering-message") return { ...chunk, parts: await withBytes(run, chunk.parts) };
  if (chunk.type !== "tool-output-available") return chunk;
  const call = await run.store.getToolCall(chunk.toolCallId);
  const blob = call?.receipt?.blob ?? null;
  if (call === null || blob === null) return chunk;
  try {
    return { ...chunk, output: await readBlobValue(run, blob, call.tool) };
  } catch (error) {
    // It was collected, which a page can live with.
    if (BlobMissingError.isInstance(error)) return { ...chunk, output: null };
    throw error;
  }
}
