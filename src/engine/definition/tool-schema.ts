import { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import { zodJsonSchema } from "../../core/zod-json-schema.ts";

/** Describes a tool's input to a model, and parses the model's arguments. */
export interface ToolInputSchema {
  jsonSchema(): JsonObject | Promise<JsonObject>;
  parse(input: unknown): Promise<{ ok: true; value: unknown } | { ok: false; error: string }>;
}

export function zodInput(schema: z.ZodType): ToolInputSchema {
  let jsonSchema: JsonObject | null = null;
  return {
    // Computed once: a tool serves many runs.
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
