import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { ModelCallError } from "../../../src/core/errors.ts";
import { isJsonObject } from "../../../src/core/json.ts";
import type { LiveListener } from "../../../src/core/turn/live-part.ts";
import type { ModelPort, ModelRequest, ModelTool } from "../../../src/engine/ports/model-port.ts";

export const API_KEY = "sk-test-0123456789abcdef";

/** A model of the real OpenAI-compatible provider. */
export function openAiModel(
  baseURL: string,
  fetch?: typeof globalThis.fetch,
): Exclude<LanguageModel, string> {
  const provider = createOpenAICompatible({
    name: "fake",
    baseURL,
    apiKey: API_KEY,
    supportsStructuredOutputs: true,
    ...(fetch === undefined ? {} : { fetch }),
  });
  return provider.chatModel("fake-model");
}

export function requestOf(given: Partial<ModelRequest> = {}): ModelRequest {
  return {
    instructions: "You are a test.",
    messages: [{ role: "user", content: "Hello" }],
    tools: [],
    outputSchema: null,
    settings: { maxOutputTokens: 100 },
    signal: new AbortController().signal,
    ...given,
  };
}

/** A tool whose input must have a string `to`; it trims it, as schemas with transforms do. */
export const sendMail: ModelTool = {
  name: "send_mail",
  description: "Sends one mail.",
  inputSchema: {
    type: "object",
    properties: { to: { type: "string" } },
    required: ["to"],
    additionalProperties: false,
  },
  validate: async (input) =>
    isJsonObject(input) && typeof input.to === "string"
      ? { ok: true, value: { to: input.to.trim() } }
      : { ok: false, error: 'The argument "to" is missing: give the address as a string.' },
};

/** The error of a call that must fail. */
export async function failureOf(
  model: ModelPort,
  request: ModelRequest = requestOf(),
  live?: LiveListener,
): Promise<ModelCallError> {
  try {
    await model.respond(request, live);
  } catch (error) {
    if (error instanceof ModelCallError) return error;
    throw new Error("The call failed with something other than a ModelCallError.", { cause: error });
  }
  throw new Error("The call was expected to fail, and it answered.");
}

/** The abort reason of the engine's own time limit. */
export function timeout(): DOMException {
  return new DOMException("The operation timed out.", "TimeoutError");
}

/** A model whose provider throws without any transport. */
export function throwingModel(error: Error) {
  return aiSdkModel(new MockLanguageModelV4({ doGenerate: async () => Promise.reject(error) }));
}
