import { blobReferenceOf } from "../../core/blob-reference.ts";
import { BlobMissingError } from "../../core/errors.ts";
import {
  type FileReference,
  isFileReference,
  type Message,
  type SaidParts,
  type UserTextPart,
} from "../../core/message.ts";
import { fileTitle, leftOut } from "../../core/usage/said-file.ts";
import type { RequestFile, RequestMessage } from "../ports/model-port.ts";
import type { RunWith } from "./active-run.ts";

type FileRun = RunWith<"store" | "runId" | "observe">;

/**
 * The messages of a request, with the bytes of their files. They are read for each request and not kept: a conversation in
 * memory holds references only. A message without files stays the same object, since ports cache by it. If a file
 * `mayBeMissing`, its name takes its place, with a warning; else it throws `BlobMissingError`.
 */
export async function withFiles(
  run: FileRun,
  messages: readonly Message[],
  { mayBeMissing }: { readonly mayBeMissing: boolean },
): Promise<readonly RequestMessage[]> {
  const read = new Map<string, Promise<Uint8Array | null>>();
  const fileOf = async (file: FileReference): Promise<RequestFile | UserTextPart> => {
    const reading = read.get(file.blobId) ?? readFile(run, file, mayBeMissing);
    read.set(file.blobId, reading);
    const data = await reading;
    return data === null ? leftOut(file, "gone") : { ...file, data };
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

/** The same bytes in each attempt: those whose hash is in the message. Null if they are missing, and may be. */
async function readFile(
  { store, runId, observe }: FileRun,
  file: FileReference,
  mayBeMissing: boolean,
): Promise<Uint8Array | null> {
  const { blobId, size } = file;
  const bytes = await store.readBlob(runId, blobId);
  if (bytes !== null && blobReferenceOf(bytes).blobId === blobId) return bytes;
  const how = bytes === null ? "gone" : "damaged";
  if (mayBeMissing) {
    const message = `Blob ${blobId} (${fileTitle(file)} of a message) is ${how}: the model sees its name in its place.`;
    observe.emit({ type: "warning", runId, message });
    return null;
  }
  throw new BlobMissingError(
    `Blob ${blobId} (${size} bytes, ${fileTitle(file)} of a message) of run ${runId} is ${how}: restore it from a backup of the store, or set degradedReplay on the step to show the model only its name.`,
    { blobId, runId },
  );
}
