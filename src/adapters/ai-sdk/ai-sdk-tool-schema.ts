import type { FlexibleSchema } from "ai";
import { assertJson } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { ModelTool } from "../../engine/ports/model-port.ts";
import { causesOf, messageOf } from "../net/error-causes.ts";
import { loadAiSdk } from "./ai-sdk-package.ts";

/** The part of a tool that describes its input. */
export type ModelToolInput = Pick<ModelTool, "inputSchema" | "validate">;

/**
 * The input schema of an AI SDK tool of any kind: zod, another Standard Schema, `jsonSchema()`, or a function that
 * returns one of these.
 *
 * @example
 * const { inputSchema, validate } = await aiSdkToolSchema(tool({ inputSchema: z.object({ to: z.email() }) }));
 */
export async function aiSdkToolSchema(tool: {
  readonly inputSchema: FlexibleSchema<unknown>;
}): Promise<ModelToolInput> {
  const { asSchema } = await loadAiSdk();
  const schema = asSchema(tool.inputSchema);
  const inputSchema = plainJson(await schema.jsonSchema);
  if (!isJsonObject(inputSchema))
    throw new ConfigurationError("The tool's input schema is not a JSON Schema object.");
  return {
    inputSchema,
    validate: async (input) => {
      // A `jsonSchema()` without `validate` accepts everything, as in the SDK.
      const result = (await schema.validate?.(input)) ?? { success: true, value: input };
      return result.success
        ? { ok: true, value: storable(result.value) }
        : { ok: false, error: `The arguments do not fit the schema: ${describeSchemaError(result.error)}` };
    },
  };
}

/** The value as a schema of any kind parses it, or what is wrong with it. */
export async function schemaProblem(
  flexible: FlexibleSchema<unknown>,
  value: unknown,
): Promise<{ readonly value: unknown; readonly problem: string | null }> {
  const { asSchema } = await loadAiSdk();
  const result = await asSchema(flexible).validate?.(value);
  if (result === undefined) return { value, problem: null };
  return result.success
    ? { value: result.value, problem: null }
    : { value, problem: describeSchemaError(result.error) };
}

/** Refuses dates and instances that a schema may make of its input: a receipt cannot store them. */
function storable(value: unknown): Json {
  assertJson(value, "The output of the tool's input schema");
  return value;
}

export function describeSchemaError(error: unknown): string {
  for (const cause of causesOf(error)) {
    if (Array.isArray(cause.issues)) return cause.issues.map(describeIssue).join("; ");
  }
  return messageOf(error);
}

function describeIssue(issue: unknown): string {
  const path =
    typeof issue === "object" && issue !== null && "path" in issue && Array.isArray(issue.path)
      ? issue.path
      : [];
  return path.length === 0 ? messageOf(issue) : `${path.map(String).join(".")}: ${messageOf(issue)}`;
}
