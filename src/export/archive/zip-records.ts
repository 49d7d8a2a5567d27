// The records of a ZIP archive (APPNOTE.TXT 6.3.10). Numbers that do not fit are in ZIP64 records, as in archives of Go's
// `archive/zip`: a descriptor has wide sizes if the file turned out that large, and readers go by the directory.

/** What the directory at the end of an archive has of a file. */
export type ZipEntry = ZipFileFacts &
  ZipSizes & {
    /** Where it begins in the archive, and where the next one does. */
    readonly offset: number;
    readonly end: number;
  };

type ZipFileFacts = { readonly name: string; readonly at: number };

type ZipSizes = { readonly crc: number; readonly size: number; readonly packedSize: number };

const WIDE_16 = 0xffff;
const WIDE_32 = 0xffff_ffff;

/** 2.0 has deflate, 4.5 has ZIP64. */
const VERSION = 20;
const VERSION_ZIP64 = 45;
/** Made by Unix, so that the mode below counts. */
const MADE_BY = (3 << 8) | VERSION_ZIP64;
/** Sizes are behind the file, and its name is UTF-8. */
const FLAGS = 0x0808;
const DEFLATED = 8;
/** A plain file, for its owner only, as those that `pawl export` writes. */
const MODE = (0o100600 << 16) >>> 0;

/** Before the bytes of a file. */
export function fileHead({ name, at }: ZipFileFacts): Buffer {
  const path = Buffer.from(name);
  const { day, time } = dosTime(at);
  return Buffer.concat([
    record([4, 0x0403_4b50], [2, VERSION], [2, FLAGS], [2, DEFLATED], [2, time], [2, day]),
    record([4, 0], [4, 0], [4, 0], [2, path.byteLength], [2, 0]),
    path,
  ]);
}

/** Behind the bytes of a file. */
export function fileEnd({ crc, size, packedSize }: ZipSizes): Buffer {
  const width = Math.max(size, packedSize) >= WIDE_32 ? 8 : 4;
  return record([4, 0x0807_4b50], [4, crc], [width, packedSize], [width, size]);
}

/** The end of an archive: the directory of its files, and where that is. */
export function directoryOf(entries: readonly ZipEntry[], offset: number): Buffer {
  const directory = Buffer.concat(entries.map(directoryEntry));
  const [count, size] = [entries.length, directory.byteLength];
  const isWide = count >= WIDE_16 || size >= WIDE_32 || offset >= WIDE_32;
  const small = isWide ? { count: WIDE_16, size: WIDE_32, offset: WIDE_32 } : { count, size, offset };
  return Buffer.concat([
    directory,
    isWide ? wideEnd({ count, size, offset }) : Buffer.alloc(0),
    record([4, 0x0605_4b50], [2, 0], [2, 0], [2, small.count], [2, small.count]),
    record([4, small.size], [4, small.offset], [2, 0]),
  ]);
}

function directoryEntry({ name, at, crc, size, packedSize, offset }: ZipEntry): Buffer {
  const path = Buffer.from(name);
  const { day, time } = dosTime(at);
  const isWide = Math.max(size, packedSize, offset) >= WIDE_32;
  const small = isWide
    ? { size: WIDE_32, packedSize: WIDE_32, offset: WIDE_32 }
    : { size, packedSize, offset };
  const wide = isWide ? record([2, 1], [2, 24], [8, size], [8, packedSize], [8, offset]) : Buffer.alloc(0);
  return Buffer.concat([
    record([4, 0x0201_4b50], [2, MADE_BY], [2, isWide ? VERSION_ZIP64 : VERSION], [2, FLAGS], [2, DEFLATED]),
    record([2, time], [2, day], [4, crc], [4, small.packedSize], [4, small.size]),
    record([2, path.byteLength], [2, wide.byteLength], [2, 0], [2, 0], [2, 0], [4, MODE], [4, small.offset]),
    path,
    wide,
  ]);
}

type DirectoryPlace = { readonly count: number; readonly size: number; readonly offset: number };

/** The same end in wide numbers, and where that is. */
function wideEnd({ count, size, offset }: DirectoryPlace): Buffer {
  return Buffer.concat([
    record([4, 0x0606_4b50], [8, 44], [2, MADE_BY], [2, VERSION_ZIP64], [4, 0], [4, 0]),
    record([8, count], [8, count], [8, size], [8, offset]),
    record([4, 0x0706_4b50], [4, 0], [8, offset + size], [4, 1]),
  ]);
}

type ZipField = readonly [width: 2 | 4 | 8, value: number];

function record(...fields: readonly ZipField[]): Buffer {
  const bytes = Buffer.alloc(fields.reduce((sum, [width]) => sum + width, 0));
  let at = 0;
  for (const [width, value] of fields) {
    if (width === 8) bytes.writeBigUInt64LE(BigInt(value), at);
    else bytes.writeUIntLE(value, at, width);
    at += width;
  }
  return bytes;
}

/** Of UTC: the format has no time zone, and the same run has the same archive everywhere. It knows the years 1980 to 2107. */
function dosTime(at: number): { readonly day: number; readonly time: number } {
  const date = new Date(Math.min(Math.max(at, Date.UTC(1980, 0, 1)), Date.UTC(2107, 11, 31)));
  return {
    day: ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(),
    time: (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1),
  };
}
