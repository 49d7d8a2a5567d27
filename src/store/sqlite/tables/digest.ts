import { hash } from "node:crypto";

/**
 * The hash of what a row holds, for the event that tells of it: the events are chained, so nobody changes the row
 * afterwards without it showing. Each field is led by its length, so that no two rows have the same text.
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
