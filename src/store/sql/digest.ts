import { hash } from "node:crypto";

/**
 * The hash of a row's content, for the event that covers it: the events are chained, so a later change to the row is
 * detected. Each field is preceded by its length, so that no two rows have the same text.
 */
export function digestOf(...fields: readonly (string | number | Uint8Array | null)[]): string {
  let text = "";
  for (const field of fields) {
    if (field === null) {
      text += "-\n";
      continue;
    }
    const value = field instanceof Uint8Array ? Buffer.from(field).toString("hex") : String(field);
    text += `${value.length}:${value}\n`;
  }
  return hash("sha256", text, "base64url");
}
