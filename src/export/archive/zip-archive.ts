import { pipeline, Readable } from "node:stream";
import { crc32, createDeflateRaw } from "node:zlib";
import type { FileContent } from "../../store/guarded-folder.ts";
import { directoryOf, fileEnd, fileHead, type ZipEntry } from "./zip-records.ts";

/** A file of an archive. */
export type ZipFile = {
  /** Its path in the archive: `q-1/artifacts/report.pdf`. The caller has checked it. */
  readonly name: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly content: FileContent;
};

/** A file of many bytes is read in pieces of this many. */
const PIECE_BYTES = 1 << 16;

/**
 * A ZIP archive, piece by piece: the next one is made when it is asked for, and a reader who leaves ends what makes them. The
 * same files result in the same bytes.
 *
 * Written here, since Node has what is difficult about it: a package would save two short files, and be one more in the build.
 */
export async function* zipArchive(
  files: AsyncIterable<ZipFile>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const entries: ZipEntry[] = [];
  let offset = 0;
  for await (const file of files) {
    const entry = yield* packed(file, offset);
    entries.push(entry);
    offset = entry.end;
  }
  yield directoryOf(entries, offset);
}

/** One file: sizes are known at its end only, so they are behind it. */
async function* packed(
  { name, at, content }: ZipFile,
  offset: number,
): AsyncGenerator<Uint8Array, ZipEntry, undefined> {
  const head = fileHead({ name, at });
  yield head;
  const plain = { crc: 0, size: 0 };
  let packedSize = 0;
  for await (const piece of deflated(counted(piecesOf(content), plain))) {
    packedSize += piece.byteLength;
    yield piece;
  }
  const end = fileEnd({ ...plain, packedSize });
  yield end;
  return {
    name,
    at,
    ...plain,
    packedSize,
    offset,
    end: offset + head.byteLength + packedSize + end.byteLength,
  };
}

async function* piecesOf(content: FileContent): AsyncGenerator<Uint8Array, void, undefined> {
  if (typeof content === "string") yield Buffer.from(content);
  else if (content instanceof Uint8Array)
    for (let at = 0; at < content.byteLength; at += PIECE_BYTES) yield content.subarray(at, at + PIECE_BYTES);
  else for await (const text of content) yield Buffer.from(text);
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  sum: { crc: number; size: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    sum.crc = crc32(piece, sum.crc);
    sum.size += piece.byteLength;
    yield piece;
  }
}

/** Compressed beside the event loop. */
async function* deflated(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const deflate = createDeflateRaw({ chunkSize: PIECE_BYTES });
  // A source that fails ends the loop over what is made of it; a reader who leaves that loop ends the source.
  pipeline(Readable.from(pieces), deflate, () => undefined);
  for await (const piece of deflate) yield piece as Uint8Array;
}
