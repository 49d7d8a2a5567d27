import { constants } from "node:buffer";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { BundleRefusedError } from "../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { bundleColumns } from "../sql/bundle-tables.ts";
import type { BundleRow } from "../store.ts";

// A bundle is a text of lines, compressed with gzip. The first line is the header, the last one counts the lines before
// it and has their hash, and each line in between is a row: its table and its values.

const FORMAT = "pawl-bundle";
const VERSION = 1;

/** The first line of a bundle. */
export type BundleHeader = {
  readonly runId: string;
  /** The ids of the store that the run comes from, and of the one that may import it. */
  readonly from: string;
  readonly to: string;
};

/** What a bundle was read to its end with. */
export type BundleEnd = { readonly lines: number; readonly sha256: string };

/** The lines of a bundle, as bytes to write. */
export async function* bundleLines(
  header: BundleHeader,
  rows: AsyncIterable<BundleRow>,
): AsyncGenerator<Buffer, BundleEnd> {
  const hash = createHash("sha256");
  let lines = 0;
  const line = (value: unknown) => {
    const bytes = Buffer.from(`${JSON.stringify(value)}\n`, "utf8");
    hash.update(bytes);
    lines += 1;
    return bytes;
  };
  yield line({ format: FORMAT, version: VERSION, ...header, tables: bundleColumns() });
  for await (const { table, values } of rows) yield line([table, values]);
  const end = { lines, sha256: hash.digest("hex") };
  yield Buffer.from(`${JSON.stringify({ end })}\n`, "utf8");
  return end;
}

/** The header of the bundle in a file. */
export async function readBundleHeader(file: string): Promise<BundleHeader> {
  for await (const line of linesIn(file)) return headerOf(file, jsonIn(file, line));
  throw notABundle(file);
}

/** The rows of the bundle in a file, one at a time. Throws at the latest at its end, unless it is whole. */
export async function* readBundleRows(file: string): AsyncGenerator<BundleRow, BundleEnd> {
  const hash = createHash("sha256");
  let lines = 0;
  let end: BundleEnd | null = null;
  for await (const line of linesIn(file)) {
    const value = jsonIn(file, line);
    if (end !== null) throw damaged(file, "something follows its end");
    if (lines === 0) headerOf(file, value);
    if (isJsonObject(value) && "end" in value) end = endOf(file, value.end);
    else {
      hash.update(line).update("\n");
      if (lines > 0) yield rowOf(file, value);
      lines += 1;
    }
  }
  if (end === null) throw damaged(file, "it is cut off");
  if (end.lines !== lines || end.sha256 !== hash.digest("hex"))
    throw damaged(file, "its content does not match its hash");
  return end;
}

function rowOf(file: string, value: Json): BundleRow {
  const [table, values] = Array.isArray(value) ? (value as readonly Json[]) : [];
  if (typeof table === "string" && Array.isArray(values) && values.every(isRowValue))
    return { table, values };
  throw damaged(file, "a line of it is no row");
}

function isRowValue(value: Json): value is string | number | null {
  return value === null || typeof value === "string" || typeof value === "number";
}

function endOf(file: string, value: Json | undefined): BundleEnd {
  const { lines, sha256 } = isJsonObject(value ?? null) ? (value as JsonObject) : {};
  if (typeof lines === "number" && typeof sha256 === "string") return { lines, sha256 };
  throw damaged(file, "its last line is not one");
}

function headerOf(file: string, value: Json): BundleHeader {
  if (!isJsonObject(value) || value.format !== FORMAT) throw notABundle(file);
  const { version, runId, from, to, tables } = value;
  if (version !== VERSION)
    throw new BundleRefusedError(
      `The bundle ${file} has version ${JSON.stringify(version ?? null)} of the format, and this Pawl reads ${VERSION}: use the version of Pawl that made it, or a newer one.`,
      { reason: "version" },
    );
  if (typeof runId !== "string" || typeof from !== "string" || typeof to !== "string")
    throw damaged(file, "its first line is incomplete");
  if (JSON.stringify(tables) !== JSON.stringify(bundleColumns()))
    throw new BundleRefusedError(
      `The bundle ${file} was made by a version of Pawl with other tables: use the same version for both stores.`,
      { reason: "version" },
    );
  return { runId, from, to };
}

function jsonIn(file: string, line: Buffer): Json {
  try {
    return JSON.parse(line.toString("utf8")) as Json;
  } catch {
    throw damaged(file, "a line of it is no JSON");
  }
}

/** The lines of a compressed file, without their ends. Only the line that is being read is held. */
async function* linesIn(file: string): AsyncGenerator<Buffer> {
  const text = createGunzip();
  // Its outcome is that of reading `text`.
  pipeline(createReadStream(file), text, () => undefined);
  let pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of text as AsyncIterable<Buffer>) {
      let rest = chunk;
      for (let at = rest.indexOf(LINE_END); at !== -1; at = rest.indexOf(LINE_END)) {
        yield Buffer.concat([...pieces, rest.subarray(0, at)]);
        rest = rest.subarray(at + 1);
        pieces = [];
        size = 0;
      }
      size += rest.length;
      if (size > constants.MAX_STRING_LENGTH) throw damaged(file, "a line of it is too long");
      pieces.push(rest);
    }
  } catch (error) {
    throw isCompressionError(error) ? damaged(file, "it is cut off, or no bundle at all") : error;
  }
  if (size > 0) throw damaged(file, "its last line is cut off");
}

const LINE_END = "\n".charCodeAt(0);

function isCompressionError(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
}

function notABundle(file: string): BundleRefusedError {
  return new BundleRefusedError(
    `The file ${file} is no bundle of a run: name one that \`pawl export --bundle\` has made.`,
    { reason: "no_bundle" },
  );
}

function damaged(file: string, what: string): BundleRefusedError {
  return new BundleRefusedError(
    `The bundle ${file} is damaged: ${what}. Nothing was imported: copy the file again, or export the run again.`,
    { reason: "damaged" },
  );
}
