import type { SqlValue } from "../sql/script.ts";

// PostgreSQL's text cannot hold the character 0, which SQLite's can. It is stored as two others, and so is the character
// that marks them. The mark is the character 1, so that texts keep their order.

const MARK = "\x01";
const [STORED_ZERO, STORED_MARK] = [`${MARK}\x01`, `${MARK}\x02`];

export function toPg(value: SqlValue): unknown {
  if (typeof value === "string") return toPgText(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value;
}

function toPgText(text: string): string {
  if (!text.includes("\0") && !text.includes(MARK)) return text;
  return text.replaceAll(MARK, STORED_MARK).replaceAll("\0", STORED_ZERO);
}

export function fromPgText(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replaceAll(STORED_ZERO, "\0").replaceAll(STORED_MARK, MARK);
}
