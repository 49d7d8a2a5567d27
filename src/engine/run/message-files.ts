import { blobReferenceOf } from "../../core/blob-reference.ts";
import { BlobMissingError } from "../../core/errors.ts";
import { type FileReference, isFileReference, type Message, type SaidParts } from "../../core/message.ts";
import { fileTitle } from "../../core/said-file.ts";
import type { RequestFile, RequestMessage } from "../ports/model-port.ts";
import type { RunWith } from "./active-run.ts";

/**
 * The messages of a request, with the bytes of their files. They are read for each request and not kept: a conversation in
 * memory holds references only. A message without files stays the same object, since ports cache by it.
 */
export async function withFiles(
  run: RunWith<"store" | "runId">,
  messages: readonly Message[],
): Promise<readonly RequestMessage[]> {
  const read = new Map<string, Promise<Uint8Array>>();
  const fileOf = async (file: FileReference): Promise<RequestFile> => {
    const bytes = read.get(file.blobId) ?? readFile(run, file);
    read.set(file.blobId, bytes);
    return { ...file, data: await bytes };
  };
  const sent: RequestMessage[] = [];
  for (const message of messages) {
    if (!hasParts(message)) sent.push(message);
    else {
      const content: SaidParts<RequestFile>["content"][number][] = [];
      for (const part of message.content) content.push(isFileReference(part) ? await fileOf(part) : part);
      sent.push({ role: "user", content });
    }
  }
  return sent;
}

function hasParts(message: Message): message is SaidParts {
  return message.role === "user" && typeof message.content !== "string";
}

/** The same bytes in each attempt: those whose hash is in the message. */
async function readFile(run: RunWith<"store" | "runId">, file: FileReference): Promise<Uint8Array> {
  const { blobId, size } = file;
  const bytes = await run.store.readBlob(run.runId, blobId);
  if (bytes !== null && blobReferenceOf(bytes).blobId === blobId) return bytes;
  throw new BlobMissingError(
    `Blob ${blobId} (${size} bytes, ${fileTitle(file)} of a message) of run ${run.runId} is ${bytes === null ? "gone" : "damaged"}: restore it from a backup of the store.`,
    { blobId, runId: run.runId },
  );
}
