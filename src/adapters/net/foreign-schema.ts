import type { Json, JsonObject } from "../../core/json.ts";
import { checkBySchema, isQuickToCheck, type SchemaCheck } from "../../core/json-schema-check.ts";
import { type Job, offThread } from "./off-thread.ts";

type SchemaAndValue = { readonly schema: JsonObject; readonly value: Json };
export const CHECK_BY_SCHEMA: Job<SchemaAndValue, SchemaCheck> = { name: "checkBySchema" };

/** Longer than any honest pattern takes. */
const LONGEST_CHECK_MS = 500;

/**
 * Holds a value against a schema, neither of which is ours. A small one without patterns is checked at once; all others on a
 * thread of their own, since a pattern of a few characters can take hours. Null where it could not be checked. Who takes long
 * waits for its own: `source` is whose schema it is.
 */
export async function checkByForeignSchema(
  schema: JsonObject,
  value: Json,
  source: string,
): Promise<SchemaCheck | null> {
  try {
    if (isQuickToCheck(schema, value)) return checkBySchema(schema, value);
    return await offThread(CHECK_BY_SCHEMA, { schema, value }, { timeoutMs: LONGEST_CHECK_MS, source });
  } catch {
    return null; // It takes too long, or the schema cannot be read here.
  }
}

/** The same for a model's answer, which has to fit: where it cannot be checked, the model gives another. */
export async function checkAnswer(schema: JsonObject, answer: Json): Promise<SchemaCheck> {
  return (await checkByForeignSchema(schema, answer, "answers")) ?? UNCHECKED;
}

const UNCHECKED: SchemaCheck = { ok: false, error: "it takes too long to check: give a shorter answer." };
