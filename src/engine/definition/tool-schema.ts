import { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import { zodJsonSchema } from "../../core/zod-json-schema.ts";

/** How a tool's input is described to a model and read back from it. */
export interface ToolInputSchema {
  jsonSchema(): JsonObject | Promise<JsonObject>;
  parse(input: unknown): Promise<{ ok: true; value: unknown } | { ok: false; error: string }>;
}

export function zodInput(schema: z.ZodType): ToolInputSchema {
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
