import type { Output } from "ai";
import { z } from "zod";
import { isJsonObject } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import { describeSchemaError } from "./ai-sdk-tool-schema.ts";

type AnyOutput = Output.Output<unknown, unknown, unknown>;

/** A placeholder for the response in the SDK's errors, of which only the cause is read. */
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

/** True for `Output.object({ … })` and the like, false for a schema. */
export function isAiSdkOutput(output: unknown): output is AnyOutput {
  return typeof output === "object" && output !== null && "parseCompleteOutput" in output;
}

/**
 * An AI SDK output as a schema; null for plain text. Its schema is private and its JSON Schema is a promise: `ready`
 * resolves when the JSON Schema is known.
 */
export function outputSchemaOf(
  output: AnyOutput,
): { readonly schema: z.ZodType; readonly ready: () => Promise<void> } | null {
  if (output.name === "text") return null;
  const metadata: { [keyword: string]: unknown } = {};
  // A run gets this error from `ready`; without a run, an unhandled rejection must not end the process.
  void Promise.resolve(output.responseFormat).catch(() => undefined);
  const ready = async () => {
    const json = plainJson(await output.responseFormat);
    if (!isJsonObject(json)) return;
    const { name, description, schema = {} } = json;
    const { $schema: _, ...known } = isJsonObject(schema) ? schema : {};
    if (name !== undefined) metadata.title = name;
    if (description !== undefined) metadata.description = description;
    Object.assign(metadata, known);
  };
  return { schema: schemaOf(output, metadata), ready };
}

function schemaOf(output: AnyOutput, metadata: { [keyword: string]: unknown }): z.ZodType {
  return z
    .unknown()
    .register(z.globalRegistry, metadata)
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
