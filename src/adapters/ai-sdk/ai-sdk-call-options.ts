// The parts of a request that are the same in every turn: settings, tools, headers.

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider";
import type { Tool as AiSdkTool, Output, ToolSet } from "ai";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Message } from "../../core/message.ts";
import type { ModelRequest, ModelTool } from "../../engine/ports/model-port.ts";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import type { AiSdkSettings, LoopSettings } from "./ai-sdk-settings.ts";
import { throughSdk } from "./ai-sdk-stand-in.ts";
import { isProviderExecuted } from "./ai-sdk-tool.ts";
import type { ModelToolInput } from "./ai-sdk-tool-schema.ts";

/** Parts of every request that are not JSON, or must not be stored. */
export type ModelExtras = {
  /** Tools that the provider defines, by their names in a request. */
  readonly providerTools?: { readonly [name: string]: AiSdkTool };
  readonly headers?: LoopSettings["headers"] | undefined;
  readonly download?: LoopSettings["experimental_download"];
};

/** A message as the provider gets it, and what the check for missing results needs of it. */
export type ConvertedMessage = {
  readonly sent: LanguageModelV4Message;
  /** The ids of the calls in it that need a result, and of the results. */
  readonly calls: readonly string[];
  readonly results: readonly string[];
};

type RequestShape = Pick<ModelRequest, "tools" | "settings" | "outputSchema">;

/** What the requests of an agent share. */
export type SharedCall = {
  readonly shape: RequestShape;
  /** As the provider gets them, without the prompt. */
  readonly options: Omit<LanguageModelV4CallOptions, "prompt" | "abortSignal">;
  /** The tools in the SDK's format, for the SDK's own reading of an answer. */
  readonly tools: ToolSet | undefined;
  readonly toolNames: ReadonlySet<string>;
  /** Messages as the provider gets them. A conversation sends the same objects in every turn and never changes them. */
  readonly messages: WeakMap<Message, ConvertedMessage>;
};

/** More shapes with the same tools than any agent has. */
const MAX_SHAPES = 8;

/** The shared parts of the requests to one model, each made once. */
export class SharedCalls {
  readonly #calls = new WeakMap<object, SharedCall[]>();
  readonly #extras: ModelExtras;

  constructor(extras: ModelExtras) {
    this.#extras = extras;
  }

  async of(ai: AiSdkPackage, model: LanguageModelV4, request: ModelRequest): Promise<SharedCall> {
    // A list of tools is made for each turn; the tools and the settings in it stay the same objects.
    const anchor = request.tools[0] ?? request.settings;
    const known = this.#calls.get(anchor) ?? [];
    const found = known.find(({ shape }) => isSameShape(shape, request));
    if (found !== undefined) return found;
    const made = await sharedCall(ai, model, request, this.#extras);
    this.#calls.set(anchor, [...known.slice(1 - MAX_SHAPES), made]);
    return made;
  }
}

function isSameShape(a: RequestShape, b: RequestShape): boolean {
  return (
    a.settings === b.settings &&
    a.outputSchema === b.outputSchema &&
    a.tools.length === b.tools.length &&
    a.tools.every((tool, index) => tool === b.tools[index])
  );
}

async function sharedCall(
  ai: AiSdkPackage,
  model: LanguageModelV4,
  request: ModelRequest,
  extras: ModelExtras,
): Promise<SharedCall> {
  const {
    toolOptions = {},
    instructionOptions: _,
    toolChoice,
    ...settings
  }: AiSdkSettings = request.settings;
  const tools =
    request.tools.length === 0
      ? undefined
      : toolSet(ai, request.tools, toolOptions, extras.providerTools ?? {});
  const { call } = await throughSdk(ai, model, {
    messages: [{ role: "user", content: "." }],
    ...(tools === undefined ? {} : { tools }),
    ...(request.outputSchema === null ? {} : { output: unvalidatedOutput(request.outputSchema) }),
    ...settingsOf(settings),
    ...(extras.headers === undefined ? {} : { headers: extras.headers }),
  });
  const { prompt: __, abortSignal: ___, ...options } = call;
  const chosen = typeof toolChoice === "string" ? { type: toolChoice } : toolChoice;
  const { tools: offered, settings: given, outputSchema } = request;
  return {
    shape: { tools: offered, settings: given, outputSchema },
    // Providers refuse a tool choice without tools. The SDK does not get it: it would throw away a paid answer that chose
    // another tool.
    options: chosen === undefined || tools === undefined ? options : { ...options, toolChoice: chosen },
    tools,
    toolNames: new Set(offered.map(({ name }) => name)),
    messages: new WeakMap(),
  };
}

/** Without `execute`, so that the SDK runs no tool: only Pawl's gateway does. */
function toolSet(
  ai: AiSdkPackage,
  tools: readonly ModelTool[],
  toolOptions: NonNullable<AiSdkSettings["toolOptions"]>,
  providerTools: NonNullable<ModelExtras["providerTools"]>,
): ToolSet {
  const sent = ({ name, description, ...tool }: ModelTool): AiSdkTool => {
    const ofProvider = Object.hasOwn(providerTools, name) ? providerTools[name] : undefined;
    if (ofProvider !== undefined) return providerToolOf(ai, tool, ofProvider);
    const options = Object.hasOwn(toolOptions, name) ? toolOptions[name] : {};
    return { ...options, description, inputSchema: schemaOf(ai, tool) };
  };
  return Object.fromEntries(tools.map((tool) => [tool.name, sent(tool)]));
}

/** Sent as its provider defines it. Arguments of a provider-executed tool are not validated. */
function providerToolOf(ai: AiSdkPackage, tool: ModelToolInput, ofProvider: AiSdkTool): AiSdkTool {
  const { execute: _, ...rest } = ofProvider;
  return isProviderExecuted(ofProvider)
    ? { ...rest, inputSchema: ai.jsonSchema({}) }
    : { ...rest, inputSchema: schemaOf(ai, tool) };
}

function schemaOf(ai: AiSdkPackage, tool: ModelToolInput) {
  return ai.jsonSchema(tool.inputSchema, {
    validate: async (value) => {
      const validated = await tool.validate(value);
      return validated.ok
        ? { success: true, value: validated.value }
        : { success: false, error: new Error(validated.error) };
    },
  });
}

/** Asks for JSON and accepts any answer: `Output.object` would throw away a paid answer that does not fit. */
function unvalidatedOutput(schema: JsonObject): Output.Output<string, string, never> {
  return {
    name: "unvalidated",
    responseFormat: Promise.resolve({ type: "json", schema }),
    parseCompleteOutput: async ({ text }) => text,
    parsePartialOutput: async () => undefined,
    createElementStreamTransform: () => undefined,
  };
}

const REASONING = ["provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

function settingsOf({ stopSequences, reasoning, providerOptions, ...plain }: AiSdkSettings) {
  return {
    ...plain,
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(reasoning === undefined ? {} : { reasoning: reasoningOf(reasoning) }),
    ...(providerOptions === undefined
      ? {}
      : { providerOptions: providerOptionsOf(providerOptions, "providerOptions") }),
  };
}

function reasoningOf(reasoning: string): (typeof REASONING)[number] {
  const known = REASONING.find((level) => level === reasoning);
  if (known !== undefined) return known;
  throw new Error(`the setting reasoning is "${reasoning}"; it must be one of ${REASONING.join(", ")}`);
}

export function providerOptionsOf(options: JsonObject, setting: string): { [provider: string]: JsonObject } {
  return Object.fromEntries(
    Object.entries(options).map(([provider, value]) => {
      if (isJsonObject(value)) return [provider, value];
      throw new Error(`the setting ${setting}.${provider} is not an object`);
    }),
  );
}
