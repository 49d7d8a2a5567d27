// Reads ZIP archives by the standard, from their directory, and holds everything against everything else that says it.

import { crc32, inflateRawSync } from "node:zlib";

export type ReadEntry = {
  readonly name: string;
  readonly crc: number;
  readonly size: number;
  readonly packedSize: number;
  readonly offset: number;
  readonly mode: number;
};

/** The files of a whole archive, by their names, in its order. Throws if anything of it does not fit. */
export function unzipped(archive: Uint8Array): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(archive);
  const entries = readDirectory(bytes, 0);
  const files = new Map<string, Buffer>();
  let next = 0;
  for (const entry of entries) {
    same(entry.offset, next, "offset");
    same(files.has(entry.name), false, "second file of one name");
    const { content, end } = readEntry(bytes, entry);
    files.set(entry.name, content);
    next = end;
  }
  return files;
}

/** The same of a response. */
export async function unzippedBody(response: Response | null): Promise<ReadonlyMap<string, Buffer>> {
  return unzipped(new Uint8Array((await response?.arrayBuffer()) ?? []));
}

function readEntry(bytes: Buffer, entry: ReadEntry): { readonly content: Buffer; readonly end: number } {
  const at = entry.offset;
  same(bytes.readUInt32LE(at), 0x0403_4b50, "file head");
  same(bytes.readUInt16LE(at + 6), 0x0808, "flags");
  const nameEnd = at + 30 + bytes.readUInt16LE(at + 26);
  same(bytes.subarray(at + 30, nameEnd).toString("utf8"), entry.name, "name");
  const begin = nameEnd + bytes.readUInt16LE(at + 28);
  const end = begin + entry.packedSize;
  const content = inflateRawSync(bytes.subarray(begin, end));
  same(content.byteLength, entry.size, "size");
  same(crc32(content), entry.crc, "crc");
  const behind = [end, end + 4, end + 8, end + 12].map((place) => bytes.readUInt32LE(place));
  same(behind.join(), [0x0807_4b50, entry.crc, entry.packedSize, entry.size].join(), "descriptor");
  return { content, end: end + 16 };
}

/** The directory of an archive, of which `bytes` is the part from `base` to its end. */
export function readDirectory(bytes: Buffer, base: number): readonly ReadEntry[] {
  const last = bytes.byteLength - 22;
  same(bytes.readUInt32LE(last), 0x0605_4b50, "end");
  same(bytes.readUInt16LE(last + 20), 0, "comment");
  let [count, size, offset, end] = [
    bytes.readUInt16LE(last + 10),
    bytes.readUInt32LE(last + 12),
    bytes.readUInt32LE(last + 16),
    last,
  ];
  if (count === 0xffff || size === 0xffff_ffff || offset === 0xffff_ffff) {
    same(bytes.readUInt32LE(last - 20), 0x0706_4b50, "locator");
    end = Number(bytes.readBigUInt64LE(last - 12)) - base;
    same(bytes.readUInt32LE(end), 0x0606_4b50, "wide end");
    [count, size, offset] = [wide(bytes, end + 32), wide(bytes, end + 40), wide(bytes, end + 48)];
  }
  same(offset + size, base + end, "place of the directory");
  const entries: ReadEntry[] = [];
  let at = offset - base;
  while (at < end) {
    const { entry, next } = readDirectoryEntry(bytes, at);
    entries.push(entry);
    at = next;
  }
  same(entries.length, count, "count");
  return entries;
}

function readDirectoryEntry(bytes: Buffer, at: number): { readonly entry: ReadEntry; readonly next: number } {
  same(bytes.readUInt32LE(at), 0x0201_4b50, "directory entry");
  const nameEnd = at + 46 + bytes.readUInt16LE(at + 28);
  const next = nameEnd + bytes.readUInt16LE(at + 30);
  const isWide = bytes.readUInt32LE(at + 24) === 0xffff_ffff;
  if (isWide) same(bytes.readUInt32LE(nameEnd), (24 << 16) | 1, "wide fields");
  return {
    entry: {
      name: bytes.subarray(at + 46, nameEnd).toString("utf8"),
      crc: bytes.readUInt32LE(at + 16),
      size: isWide ? wide(bytes, nameEnd + 4) : bytes.readUInt32LE(at + 24),
      packedSize: isWide ? wide(bytes, nameEnd + 12) : bytes.readUInt32LE(at + 20),
      offset: isWide ? wide(bytes, nameEnd + 20) : bytes.readUInt32LE(at + 42),
      mode: bytes.readUInt32LE(at + 38) >>> 16,
    },
    next,
  };
}

function wide(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}

function same(found: unknown, meant: unknown, what: string): void {
  if (found !== meant)
    throw new Error(`The archive is broken: ${what} is ${String(found)}, not ${String(meant)}.`);
}
