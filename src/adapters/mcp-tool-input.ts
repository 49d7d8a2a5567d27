import { z } from "zod";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { ToolInput } from "../engine/tool-schema.ts";
import { plainJson } from "./plain-json.ts";

/**
 * The arguments of a server's tool, as its JSON Schema describes them. They are checked here as far as zod can read the
 * schema, so that the model hears of a mistake before anything is sent; what it cannot read, the server checks itself.
 * What goes out is what was written: defaults are the server's to fill in.
 */
export function mcpToolInput(inputSchema: unknown): ToolInput {
  const plain = plainJson(inputSchema);
  const jsonSchema: JsonObject = isJsonObject(plain) ? plain : { type: "object" };
  let schema: z.ZodType | null | undefined;
  return {
    jsonSchema: () => jsonSchema,
    parse: async (input) => {
      if (!isJsonObject(input)) return { ok: false, error: "The arguments have to be an object." };
      schema ??= readSchema(jsonSchema);
      const problem = problemWith(schema, input);
      return problem === null ? { ok: true, value: input } : { ok: false, error: problem };
    },
  };
}

const ANYTHING = z.any();

function readSchema(jsonSchema: JsonObject): z.ZodType {
  try {
    return z.fromJSONSchema(jsonSchema);
  } catch {
    return ANYTHING;
  }
}

function problemWith(schema: z.ZodType, input: JsonObject): string | null {
  try {
    const parsed = schema.safeParse(input);
    return parsed.success ? null : z.prettifyError(parsed.error);
  } catch {
    return null; // A schema that was read and cannot be used, such as one with a pattern that is none.
  }
}
