import type { TextUIPart } from "ai";
import { isJsonObject, type Json } from "../../../core/json.ts";

/** The parts of a user's message on a page, from how the mailbox has it. */
export function textPartsOf(body: Json): TextUIPart[] {
  const text = isJsonObject(body) ? body.text : body;
  return typeof text === "string" ? [{ type: "text", text }] : [];
}
