import { hash } from "node:crypto";

/**
 * The hash of what a row holds, for the event that tells of it: the events are chained, so nobody changes the row
 * afterwards without it showing. Each field is led by its length, so that no two rows have the same text.
 */
export function digestOf(...fields: readonly (string | number | Uint8Array | null)[]): string {
  let text = "";
  for (const field of fields) {
    const value =
      field === null ? "" : field instanceof Uint8Array ? Buffer.from(field).toString("hex") : String(field);
    text += field === null ? "-\n" : `${value.length}:${value}\n`;
  }
  return hash("sha256", text, "base64url");
}
