import { z } from "zod";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import type {
  AnySchema,
  CheckedJsonSchema,
  StandardIssue,
  StandardSchema,
} from "../../core/standard-schema.ts";
import { zodJsonSchema } from "../../core/zod-json-schema.ts";

/** Describes a value to a model, and parses what the model or a tool gives for it. */
export interface ValueSchema {
  jsonSchema(): JsonObject | Promise<JsonObject>;
  parse(value: unknown): Promise<ParsedValue>;
}

type ParsedValue =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string };

/** Reads a schema of any library. `name` is for the error if it has no JSON Schema, which is asked for only when needed. */
export function valueSchema(schema: AnySchema<unknown>, name?: string): ValueSchema {
  if (isZod(schema)) return zodInput(schema, name);
  if (isStandard(schema)) return standardSchema(schema, name);
  return checkedJsonSchema(schema, name);
}

/** True for what `valueSchema` reads; for callers without types. */
export function isSchema(value: unknown): value is AnySchema<unknown> {
  if (typeof value === "function") return true;
  return (
    typeof value === "object" &&
    value !== null &&
    (isZod(value) || isStandard(value) || "jsonSchema" in value)
  );
}

/** Throws if the schema has no JSON Schema, as far as that is known at once: that of the AI SDK may be a promise. */
export function assertJsonSchema(schema: ValueSchema): void {
  const found = schema.jsonSchema();
  // A run gets this error, too; without a run, an unhandled rejection must not end the process.
  if (found instanceof Promise) found.catch(() => undefined);
}

export function zodInput(schema: z.ZodType, name?: string): ValueSchema {
  let jsonSchema: JsonObject | null = null;
  return {
    // Computed once: a tool serves many runs.
    jsonSchema: () => {
      jsonSchema ??= zodJsonSchema(schema, name);
      return jsonSchema;
    },
    parse: async (input) => {
      const parsed = await parse(schema, input);
      return parsed.success
        ? { ok: true, value: parsed.data }
        : { ok: false, error: z.prettifyError(parsed.error) };
    },
  };
}

/** Most schemas are synchronous, and parse several times as fast that way. */
function parse(
  schema: z.ZodType,
  input: unknown,
): z.ZodSafeParseResult<unknown> | Promise<z.ZodSafeParseResult<unknown>> {
  try {
    return schema.safeParse(input);
  } catch (error) {
    if (error instanceof z.core.$ZodAsyncError) return schema.safeParseAsync(input);
    throw error;
  }
}

function standardSchema({ "~standard": standard }: StandardSchema, name = "The schema"): ValueSchema {
  let jsonSchema: JsonObject | null = null;
  return {
    jsonSchema: () => {
      jsonSchema ??= standardJsonSchema(standard, name);
      return jsonSchema;
    },
    parse: async (value) => {
      const result = await standard.validate(value);
      return result.issues === undefined
        ? { ok: true, value: result.value }
        : { ok: false, error: issuesText(result.issues) };
    },
  };
}

/** What adds a JSON Schema to the schemas of a library that leaves it to another package. */
const WRAPPERS: ReadonlyMap<string, string> = new Map([
  ["valibot", 'toStandardJsonSchema(…) of the package "@valibot/to-json-schema"'],
]);

function standardJsonSchema(standard: StandardSchema["~standard"], name: string): JsonObject {
  if (standard.jsonSchema === undefined)
    throw new ConfigurationError(
      `${name} is a schema of ${standard.vendor} that has no JSON Schema of its own, which a model needs: wrap it with ${WRAPPERS.get(standard.vendor) ?? 'jsonSchema(…) of the package "ai"'}.`,
    );
  try {
    return plainSchema(standard.jsonSchema.input({ target: "draft-07" }), name);
  } catch (error) {
    if (ConfigurationError.isInstance(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(`${name} has no JSON Schema: ${why}.`, {}, { cause: error });
  }
}

function checkedJsonSchema(
  given: CheckedJsonSchema | (() => CheckedJsonSchema),
  name = "The schema",
): ValueSchema {
  let schema: CheckedJsonSchema | null = null;
  const read = () => {
    schema ??= typeof given === "function" ? given() : given;
    return schema;
  };
  return {
    jsonSchema: async () => plainSchema(await read().jsonSchema, name),
    parse: async (value) => {
      // Without `validate` it accepts everything, as in the SDK.
      const result = (await read().validate?.(value)) ?? { success: true, value };
      return result.success
        ? { ok: true, value: result.value }
        : { ok: false, error: issuesText(issuesOf(result.error)) };
    },
  };
}

/** Without the `$schema` line, which says nothing about the value. */
function plainSchema(given: unknown, name: string): JsonObject {
  const json = plainJson(given);
  if (!isJsonObject(json)) throw new ConfigurationError(`The JSON Schema of ${name} is not an object.`);
  const { $schema: _, ...schema } = json;
  return schema;
}

/** One line for each issue, with its path, as zod writes it. */
export function issuesText(issues: readonly StandardIssue[]): string {
  return z.prettifyError({ issues });
}

/** A wrapped schema of another library throws its own error, with the issues in it or in its cause. */
function issuesOf(error: Error): readonly StandardIssue[] {
  for (const each of [error, error.cause]) {
    if (!(each instanceof Error) || !("issues" in each) || !Array.isArray(each.issues)) continue;
    if (each.issues.every(isIssue)) return each.issues;
  }
  return [{ message: error.message }];
}

function isIssue(value: unknown): value is StandardIssue {
  return (
    typeof value === "object" && value !== null && "message" in value && typeof value.message === "string"
  );
}

function isZod(schema: object): schema is z.ZodType {
  return "_zod" in schema;
}

function isStandard(schema: object): schema is StandardSchema {
  return "~standard" in schema;
}
