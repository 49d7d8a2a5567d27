import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { ValueSchema } from "../../engine/definition/value-schema.ts";
import { checkByForeignSchema } from "../net/foreign-schema.ts";

/**
 * The arguments of a server's tool, as its JSON Schema describes them. They are checked here as far as zod can read the
 * schema and the time limit allows, so that the model learns of a mistake before anything is sent; the server checks the
 * rest. Arguments are sent unchanged: defaults are for the server to fill in.
 */
export function mcpToolInput(inputSchema: unknown, server: string): ValueSchema {
  const plain = plainJson(inputSchema);
  const jsonSchema: JsonObject = isJsonObject(plain) ? plain : { type: "object" };
  let schema: JsonObject | undefined;
  return {
    jsonSchema: () => jsonSchema,
    parse: async (input) => {
      if (!isJsonObject(input)) return { ok: false, error: "The arguments must be an object." };
      schema ??= relaxed(jsonSchema) as JsonObject;
      const checked = await checkByForeignSchema(schema, input, server);
      return checked === null || checked.ok ? { ok: true, value: input } : checked;
    },
  };
}

/** Keywords that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required"]);
/** Keywords that hold schemas by arbitrary names. */
const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);

/**
 * The schema without the points in which zod is stricter than JSON Schema: it has its own formats, limits integers to 2^53,
 * and compares objects in `const` and `enum` by identity.
 */
function relaxed(schema: Json): Json {
  if (Array.isArray(schema)) return (schema as readonly Json[]).map(relaxed);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema)
    .filter(([key, value]) => key !== "format" && !isComparedByIdentity(key, value))
    .map(([key, value]) => [key, relaxedUnder(key, value)] as const);
  const { type, ...rest } = Object.fromEntries(entries);
  if (type === "integer") return { multipleOf: 1, ...rest, type: "number" };
  return Object.fromEntries(entries);
}

function isComparedByIdentity(key: string, value: Json): boolean {
  const values: readonly Json[] = key === "enum" && Array.isArray(value) ? value : [value];
  return (
    (key === "const" || key === "enum") && values.some((each) => typeof each === "object" && each !== null)
  );
}

function relaxedUnder(key: string, value: Json): Json {
  if (VALUES.has(key)) return value;
  if (!NAMED_SCHEMAS.has(key) || !isJsonObject(value)) return relaxed(value);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, relaxed(each)]));
}
