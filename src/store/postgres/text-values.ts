import type { SqlValue } from "../sql/script.ts";

// PostgreSQL's text cannot hold the character 0, which SQLite's can. It is stored as two others, and so is the character
// that marks them.

const MARK = "\u{f8f0}";
const SPECIAL = /[\0\u{f8f0}]/gu;
const STORED = /\u{f8f0}[01]/gu;

export function toPg(value: SqlValue): unknown {
  if (typeof value === "string") return toPgText(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value;
}

function toPgText(text: string): string {
  if (!text.includes("\0") && !text.includes(MARK)) return text;
  return text.replaceAll(SPECIAL, (found) => (found === MARK ? `${MARK}1` : `${MARK}0`));
}

export function fromPgText(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replaceAll(STORED, (found) => (found.endsWith("1") ? MARK : "\0"));
}
