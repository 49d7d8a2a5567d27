import type { Json } from "../../../../src/core/json.ts";

/** What a person has typed, read as JSON. */
export type TypedJson =
  | { readonly kind: "value"; readonly value: Json }
  | { readonly kind: "invalid"; readonly why: string };

/** Empty text is no value: JSON has `null` for that, which has to be typed. */
export function typedJson(text: string): TypedJson {
  if (text.trim() === "") return { kind: "invalid", why: 'Type JSON, such as null or {"id": "msg-81"}.' };
  try {
    return { kind: "value", value: JSON.parse(text) as Json };
  } catch (error) {
    return { kind: "invalid", why: error instanceof Error ? error.message : String(error) };
  }
}
