import { z } from "zod";
import { ConfigurationError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";

/** How a tool's input is described to a model and read back from it. */
export interface ToolInput {
  jsonSchema(): JsonObject | Promise<JsonObject>;
  parse(input: unknown): Promise<{ ok: true; value: unknown } | { ok: false; error: string }>;
}

export function zodInput(schema: z.ZodType): ToolInput {
  let jsonSchema: JsonObject | null = null;
  return {
    // Made once: a tool serves many runs.
    jsonSchema: () => {
      jsonSchema ??= zodJsonSchema(schema);
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

/** Most schemas have nothing to wait for, and parse several times as fast when not asked to. */
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

/** The JSON Schema of what a zod schema takes in, without the `$schema` line, which says nothing about the input. */
export function zodJsonSchema(schema: z.ZodType, name = "The schema"): JsonObject {
  try {
    const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io: "input" });
    return JSON.parse(JSON.stringify(jsonSchema)) as JsonObject;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(
      `${name} has no JSON Schema that a model could be shown: ${why}.`,
      {},
      { cause: error },
    );
  }
}
