import type { Json, JsonObject } from "../../core/json.ts";
import { isQuickToCheck, type SchemaCheck } from "../../core/json-schema-check.ts";
import { checkBySchema } from "../../core/zod-json-schema.ts";
import { offThread, type ThreadJob } from "./off-thread.ts";

type SchemaAndValue = { readonly schema: JsonObject; readonly value: Json };
export const CHECK_BY_SCHEMA: ThreadJob<SchemaAndValue, SchemaCheck> = { name: "checkBySchema" };

/** Longer than any sensible pattern takes. */
const LONGEST_CHECK_MS = 500;

/**
 * Checks a value against a schema, both from outside. A small schema without patterns is checked at once, every other one on
 * a thread, since a pattern of a few characters can take hours. Null if it could not be checked, as in a program in one file
 * with no zod beside it. `source` is the owner of the schema: slow checks delay only other checks of the same source.
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
    return null; // It took too long, the schema cannot be read here, or threads have no zod.
  }
}

/** The same for a model's answer, which must fit: if it cannot be checked, the model is asked for another one. */
export async function checkAnswer(schema: JsonObject, answer: Json): Promise<SchemaCheck> {
  return (await checkByForeignSchema(schema, answer, "answers")) ?? UNCHECKED;
}

const UNCHECKED: SchemaCheck = { ok: false, error: "it takes too long to check: give a shorter answer." };
