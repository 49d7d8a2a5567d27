import { readFile, stat } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import type { UserFilePart } from "../../core/message.ts";
import { MAX_MESSAGE_BYTES, megabytes } from "../../core/run/sent-message.ts";
import { cleanLine } from "./terminal-text.ts";
import { WrongUseError } from "./wrong-use-error.ts";

/** The types that models take, by the ending of a file's name. */
const MEDIA_TYPES: { readonly [ending: string]: string } = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".html": "text/html",
  ".json": "application/json",
  ".mp3": "audio/mpeg",
  ".wav": "audio/wav",
  ".mp4": "video/mp4",
};

/** Reads a file of `--file`, as a part of a message. Only its name is sent, and no path. */
export async function readSentFile(path: string, folder: string): Promise<UserFilePart> {
  const shown = cleanLine(path);
  const mediaType = MEDIA_TYPES[extname(path).toLowerCase()];
  if (mediaType === undefined)
    throw new WrongUseError(
      `--file ${shown} has an ending that says no type: use one of ${Object.keys(MEDIA_TYPES).join(", ")}, or send it with runner.send.`,
    );
  const size = await sizeOf(resolve(folder, path), shown);
  if (size > MAX_MESSAGE_BYTES)
    throw new WrongUseError(
      `--file ${shown} has ${megabytes(size)}, and the files of a message have at most ${megabytes(MAX_MESSAGE_BYTES)}: send a smaller one.`,
    );
  if (size === 0) throw new WrongUseError(`--file ${shown} is empty: send another one.`);
  return { type: "file", mediaType, data: await readFile(resolve(folder, path)), filename: basename(path) };
}

async function sizeOf(path: string, shown: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => {
    const why = error instanceof Error && "code" in error ? String(error.code) : "no reason was given";
    throw new WrongUseError(`--file ${shown} cannot be read (${why}): give the path of a file.`);
  });
  if (!found.isFile()) throw new WrongUseError(`--file ${shown} is no file: give the path of one.`);
  return found.size;
}
