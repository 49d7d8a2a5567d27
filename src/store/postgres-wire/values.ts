import { StoreUnusableError } from "../../core/errors.ts";
import type { SqlValue } from "../sql/row.ts";

// PostgreSQL's text cannot hold the character 0, which SQLite's can. It is stored as two others, and so is the character
// that marks them. The mark is the character 1, so that texts keep their order.

const MARK = "\x01";
const [STORED_ZERO, STORED_MARK] = [`${MARK}\x01`, `${MARK}\x02`];

/** A value as the protocol carries it: texts as they are, bytes as bytes, an array as its literal. */
export function toPg(value: SqlValue | readonly SqlValue[]): string | Buffer | null {
  if (Array.isArray(value)) return `{${value.map(toElement).join(",")}}`;
  if (typeof value === "string") return toPgText(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value === null ? null : String(value);
}

const QUOTED = /["\\]/g;

function toElement(value: SqlValue): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (value instanceof Uint8Array)
    return `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}"`;
  const text = toPgText(value);
  return `"${text.includes('"') || text.includes("\\") ? text.replaceAll(QUOTED, "\\$&") : text}"`;
}

function toPgText(text: string): string {
  if (!text.includes("\0") && !text.includes(MARK)) return text;
  return text.replaceAll(MARK, STORED_MARK).replaceAll("\0", STORED_ZERO);
}

function fromPgText(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replaceAll(STORED_ZERO, "\0").replaceAll(STORED_MARK, MARK);
}

/** By the number of the type. Every other type is a text. */
const READERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"],
  [17, (text) => Buffer.from(text.slice(2), "hex")],
  [20, safeInteger],
  [21, Number],
  [23, Number],
]);

/** The value of a column of this type. */
export function fromPg(type: number, text: string | null): unknown {
  if (text === null) return null;
  return (READERS.get(type) ?? fromPgText)(text);
}

function safeInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new StoreUnusableError(
    `A row of the database holds ${text}, which is no integer of 53 bits: it was changed by another program; restore the database from a backup.`,
    { reason: "row_shape" },
  );
}
