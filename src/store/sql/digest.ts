import { hash } from "node:crypto";
import type { SqlValue } from "./row.ts";

/**
 * The hash of a row's content, for the event that covers it: the events are chained, so a later change to the row is
 * detected. Each field is preceded by its length, so that no two rows have the same text.
 */
export function digestOf(fields: readonly SqlValue[]): string {
  let text = "";
  for (const field of fields) {
    if (field === null) {
      text += "-\n";
      continue;
    }
    const value = typeof field === "object" ? hexOf(field) : String(field);
    text += `${value.length}:${value}\n`;
  }
  return hash("sha256", text, "base64url");
}

/** Without a copy of the bytes, which `Buffer.from(bytes)` makes. */
export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
