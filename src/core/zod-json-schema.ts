import { z } from "zod";
import { ConfigurationError } from "./errors.ts";
import type { Json, JsonObject } from "./json.ts";
import { checkWith, type SchemaCheck } from "./json-schema-check.ts";

/** The JSON Schema of a zod schema's input, without the `$schema` line, which says nothing about the input. */
export function zodJsonSchema(schema: z.ZodType, name = "The schema"): JsonObject {
  try {
    const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io: "input" });
    return JSON.parse(JSON.stringify(jsonSchema)) as JsonObject;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(
      `${name} has no JSON Schema: ${why}. Use schemas of JSON values, such as z.iso.datetime() for a date.`,
      {},
      { cause: error },
    );
  }
}

/** Checks a value with the zod that Pawl imports. See `checkWith`. */
export function checkBySchema(schema: JsonObject, value: Json): SchemaCheck {
  return checkWith(z, schema, value);
}
