import type { Output } from "ai";
import { z } from "zod";
import { isJsonObject } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import { describeSchemaError } from "./ai-sdk-tool-schema.ts";

type AnyOutput = Output.Output<unknown, unknown, unknown>;

/** What its errors would say of the response; they are read for their cause alone. */
const NO_RESPONSE: Parameters<AnyOutput["parseCompleteOutput"]>[1] = {
  response: { id: "", modelId: "", timestamp: new Date(0) },
  usage: {
    inputTokens: undefined,
    inputTokenDetails: { noCacheTokens: undefined, cacheReadTokens: undefined, cacheWriteTokens: undefined },
    outputTokens: undefined,
    outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
    totalTokens: undefined,
  },
  finishReason: "stop",
};

/** `Output.object({ … })` and its kind, and not a schema. */
export function isAiSdkOutput(output: unknown): output is AnyOutput {
  return typeof output === "object" && output !== null && "parseCompleteOutput" in output;
}

/**
 * An output of the AI SDK as a schema; null for plain text. It keeps its schema to itself and only promises the JSON
 * Schema: `ready` is when that is there.
 */
export function outputSchemaOf(
  output: AnyOutput,
): { readonly schema: z.ZodType; readonly ready: () => Promise<void> } | null {
  if (output.name === "text") return null;
  const told: { [word: string]: unknown } = {};
  // Who needs it hears of it; an agent that nobody runs must not end the process.
  void Promise.resolve(output.responseFormat).catch(() => undefined);
  const ready = async () => {
    const json = plainJson(await output.responseFormat);
    if (!isJsonObject(json)) return;
    const { name, description, schema = {} } = json;
    const { $schema: _, ...known } = isJsonObject(schema) ? schema : {};
    if (name !== undefined) told.title = name;
    if (description !== undefined) told.description = description;
    Object.assign(told, known);
  };
  return { schema: schemaOf(output, told), ready };
}

function schemaOf(output: AnyOutput, told: { [word: string]: unknown }): z.ZodType {
  return z
    .unknown()
    .register(z.globalRegistry, told)
    .transform(async (value, context) => {
      try {
        return await output.parseCompleteOutput({ text: JSON.stringify(value) }, NO_RESPONSE);
      } catch (error) {
        context.addIssue({ code: "custom", message: describeSchemaError(causeOf(error)) });
        return z.NEVER;
      }
    });
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? (error.cause ?? error) : error;
}
