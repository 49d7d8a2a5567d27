import type { Output } from "ai";
import { isJsonObject } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import { issuesText, type ValueSchema } from "../../engine/definition/value-schema.ts";
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

/** An AI SDK output as a schema, which is private in it; null for plain text. */
export function outputSchemaOf(output: AnyOutput): ValueSchema | null {
  if (output.name === "text") return null;
  // A run gets this error from `jsonSchema`; without a run, an unhandled rejection must not end the process.
  void Promise.resolve(output.responseFormat).catch(() => undefined);
  return {
    jsonSchema: async () => {
      const json = plainJson(await output.responseFormat);
      if (!isJsonObject(json)) return {};
      const { name, description, schema = {} } = json;
      const { $schema: _, ...known } = isJsonObject(schema) ? schema : {};
      return {
        ...(name === undefined ? {} : { title: name }),
        ...(description === undefined ? {} : { description }),
        ...known,
      };
    },
    parse: async (value) => {
      try {
        return {
          ok: true,
          value: await output.parseCompleteOutput({ text: JSON.stringify(value) }, NO_RESPONSE),
        };
      } catch (error) {
        return { ok: false, error: issuesText([{ message: describeSchemaError(causeOf(error)) }]) };
      }
    },
  };
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? (error.cause ?? error) : error;
}
