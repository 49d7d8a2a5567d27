import { inflateSync } from "node:zlib";

const MOST_IMAGE_BYTES = 10_000_000;
const MOST_PNG_PIECES = 20_000;
const MOST_PIXEL_BYTES = 200_000_000;
const PNG_SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const INDEXED = 3;
const UNREADABLE = "its PNG cannot be read";

/** The channels of a pixel and the bit depths of a channel, by the colour type of a PNG. */
const COLOUR_TYPES: {
  readonly [type: number]: { readonly channels: number; readonly bits: readonly number[] };
} = {
  0: { channels: 1, bits: [1, 2, 4, 8, 16] },
  2: { channels: 3, bits: [8, 16] },
  [INDEXED]: { channels: 1, bits: [1, 2, 4, 8] },
  4: { channels: 2, bits: [8, 16] },
  6: { channels: 4, bits: [8, 16] },
};

/** The bytes of an image in a form that pdfkit can use, or why it cannot be used. */
export type PdfImage = { readonly bytes: Buffer } | { readonly problem: string };

/**
 * Checks an image before pdfkit does. pdfkit reads the pixels of a PNG later, in a callback, where anything unexpected would
 * crash the process: so each row is checked here, and only the checked parts are passed on.
 */
export function pdfImage(bytes: Buffer): PdfImage {
  if (bytes.length > MOST_IMAGE_BYTES)
    return {
      problem: `it has ${bytes.length} bytes, and the maximum is ${MOST_IMAGE_BYTES}: make it smaller`,
    };
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return { bytes };
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return { problem: "it is neither PNG nor JPEG" };
  const parts = pngParts(bytes);
  if (typeof parts === "string") return { problem: parts };
  const header = parts.get("IHDR");
  const data = parts.get("IDAT");
  if (header?.length !== 13 || data === undefined) return { problem: UNREADABLE };
  const problem = headerProblem(header) ?? transparencyProblem(header, parts) ?? pixelProblem(header, data);
  return problem === null ? { bytes: cleanPng(header, data, parts) } : { problem };
}

/** The parts by name, with those of one name joined; or why they cannot be read. */
function pngParts(bytes: Buffer): ReadonlyMap<string, Buffer> | string {
  const pieces = new Map<string, Buffer[]>();
  let at = 8;
  for (let count = 0; at + 12 <= bytes.length; count++) {
    const length = bytes.readUInt32BE(at);
    const name = bytes.toString("latin1", at + 4, at + 8);
    if (at + 12 + length > bytes.length) return UNREADABLE;
    if (name === "IEND") return joined(pieces);
    if (count === MOST_PNG_PIECES) return `its PNG has more than ${MOST_PNG_PIECES} parts: save it again`;
    const known = pieces.get(name);
    const piece = bytes.subarray(at + 8, at + 8 + length);
    if (known === undefined) pieces.set(name, [piece]);
    else known.push(piece);
    at += 12 + length;
  }
  return UNREADABLE;
}

/** Joins each part once, when all its pieces are known: joining them one by one takes quadratic time. */
function joined(pieces: ReadonlyMap<string, readonly Buffer[]>): ReadonlyMap<string, Buffer> {
  return new Map([...pieces].map(([name, ofName]) => [name, Buffer.concat(ofName)]));
}

function headerProblem(header: Buffer): string | null {
  const colours = COLOUR_TYPES[header.readUInt8(9)];
  if (colours === undefined || !colours.bits.includes(header.readUInt8(8))) return UNREADABLE;
  return header.readUInt8(12) === 0 ? null : "it is an interlaced PNG: save it without interlacing";
}

function transparencyProblem(header: Buffer, parts: ReadonlyMap<string, Buffer>): string | null {
  if (header.readUInt8(9) !== INDEXED) return null;
  const colours = parts.get("PLTE")?.length ?? 0;
  if (colours === 0 || colours % 3 !== 0 || colours > 768) return "its PNG has no palette";
  if (!parts.has("tRNS") || header.readUInt8(8) === 8) return null;
  return "it is a PNG with a small palette and transparency: save it in full colour";
}

function pixelProblem(header: Buffer, data: Buffer): string | null {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = COLOUR_TYPES[header.readUInt8(9)]?.channels ?? 0;
  const rowBytes = 1 + Math.ceil((width * channels * header.readUInt8(8)) / 8);
  const expected = height * rowBytes;
  if (expected === 0 || expected > MOST_PIXEL_BYTES) return `it has ${width} x ${height} pixels`;
  try {
    const rows = inflateSync(data, { maxOutputLength: expected + 1 });
    if (rows.length !== expected) return "its PNG data does not fit its size";
    // The first byte of a row is its filter; there are five.
    for (let at = 0; at < expected; at += rowBytes) if ((rows[at] ?? 5) > 4) return "its PNG data is broken";
    return null;
  } catch {
    return "its PNG data is broken";
  }
}

/** A PNG of only the checked parts. The checksums are left empty, since pdfkit does not read them. */
function cleanPng(header: Buffer, data: Buffer, parts: ReadonlyMap<string, Buffer>): Buffer {
  const isIndexed = header.readUInt8(9) === INDEXED;
  const kept = isIndexed ? ["PLTE", "tRNS"] : [];
  const named = kept.flatMap((name) => {
    const part = parts.get(name);
    return part === undefined ? [] : [pngPart(name, part)];
  });
  return Buffer.concat([
    PNG_SIGNATURE,
    pngPart("IHDR", header),
    ...named,
    pngPart("IDAT", data),
    pngPart("IEND", Buffer.alloc(0)),
  ]);
}

function pngPart(name: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(name, "latin1"), data, Buffer.alloc(4)]);
}
