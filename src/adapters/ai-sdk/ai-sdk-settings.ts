import type { ToolLoopAgentSettings, ToolSet } from "ai";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import {
  assertOptions,
  givenOptions,
  type OptionNames,
  type OtherNames,
  unknownOption,
} from "../../core/naming/option-names.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { ModelSettings } from "../../engine/ports/model-port.ts";

export type LoopSettings = ToolLoopAgentSettings<never, ToolSet>;

/** Model settings that only AI SDK models have. All of them are pinned with the run. */
export type AiSdkSettings = ModelSettings & {
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly toolChoice?: NonNullable<LoopSettings["toolChoice"]>;
  /** Options of a tool that are sent besides its description: `strict`, `inputExamples`, `providerOptions`. */
  readonly toolOptions?: { readonly [tool: string]: JsonObject };
  /** The `providerOptions` of the instructions, such as a cache breakpoint. */
  readonly instructionOptions?: JsonObject;
};

const USED = [
  "id",
  "model",
  "instructions",
  "tools",
  "toolsContext",
  "runtimeContext",
  "toolChoice",
  "stopWhen",
  "toolApproval",
  "activeTools",
  "toolOrder",
  "toolCallConcurrency",
  "output",
  "maxOutputTokens",
  "temperature",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "stopSequences",
  "seed",
  "reasoning",
  "providerOptions",
  "headers",
  "timeout",
  "experimental_download",
] as const satisfies (keyof LoopSettings)[];

/** Settings that do not change what the agent does: retries, telemetry, what to keep in memory. */
const IGNORED = [
  "maxRetries",
  "telemetry",
  "experimental_telemetry",
  "include",
  "allowSystemInMessages",
  "experimental_toolApprovalSecret",
  "_internal",
] as const satisfies (keyof LoopSettings)[];

/** Callbacks that Pawl would never call. They are refused, since code may rely on them. */
const OBSERVERS = [
  "onStart",
  "experimental_onStart",
  "onStepStart",
  "experimental_onStepStart",
  "onLanguageModelCallStart",
  "onLanguageModelCallEnd",
  "onToolExecutionStart",
  "onToolExecutionEnd",
  "onStepEnd",
  "onStepError",
  "onStepFinish",
  "onError",
  "onAbort",
  "onEnd",
  "onFinish",
] as const satisfies (keyof LoopSettings)[];

const REPAIRS = ["repairToolCall", "experimental_repairToolCall"] as const satisfies (keyof LoopSettings)[];

type HandledSetting =
  | (typeof USED)[number]
  | (typeof IGNORED)[number]
  | (typeof OBSERVERS)[number]
  | (typeof REPAIRS)[number];

/** A setting that `agent` refuses; its options leave it out. */
export type RefusedSetting = Exclude<keyof LoopSettings, (typeof USED)[number] | (typeof IGNORED)[number]>;

const PINNED =
  "the settings of a run do not change: put what changes into a promptTemplate({ … }), or use several steps";

/** The alternative to each setting that shapes a run and cannot be pinned. A setting that a later SDK adds fails to compile here. */
const INSTEAD: { readonly [S in Exclude<keyof LoopSettings, HandledSetting>]: string } = {
  prepareStep: PINNED,
  prepareCall: PINNED,
  callOptionsSchema: "pass call options in the run's input: runner.run(input)",
  experimental_refineToolInput: "let the tool's inputSchema transform its input, or its execute function",
  experimental_toolCallers: "a tool is called by the model, or by code with ctx.call(tool, …)",
};

const REFUSED: ReadonlyMap<string, string> = new Map([
  ...Object.entries(INSTEAD),
  ...OBSERVERS.map(
    (name) => [name, "listen to the run with runner.stream(…) or the Runner's onEvent instead"] as const,
  ),
  ...REPAIRS.map(
    (name) => [name, "a model whose arguments do not fit gets the error and calls the tool again"] as const,
  ),
]);

/** Names of other versions of the AI SDK, of other libraries, and of options that belong elsewhere. */
const OTHER_NAMES: OtherNames = {
  system: "instructions",
  prompt: "instructions",
  maxSteps: "maxTurns",
  stepCountIs: "maxTurns",
  maxIterations: "maxTurns",
  maxTokens: "maxOutputTokens",
  outputSchema: "output",
  responseFormat: "output",
  schema: "output",
  store: "store of new Runner(agent, { … })",
  pricing: "pricing of new Runner(agent, { … })",
  policy: "policy of new Runner(agent, { … })",
  budget: "budget of runner.run(input, { … })",
};

/** Refuses unknown settings. `own` are the names of those that only `agent` has. */
export function assertAcceptedSettings(
  agent: string,
  given: object,
  own: { readonly [name: string]: true },
): void {
  const accepted: readonly string[] = [...USED, ...Object.keys(own)];
  for (const [setting, value] of Object.entries(given)) {
    if (value === undefined || accepted.includes(setting) || IGNORED.some((name) => name === setting))
      continue;
    const instead = REFUSED.get(setting);
    throw new ConfigurationError(
      instead === undefined
        ? unknownOption(`Agent ${agent}`, setting, accepted, OTHER_NAMES)
        : `Agent ${agent} cannot have ${setting}: ${instead}.`,
    );
  }
}

const SETTINGS_NAMES = {
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
  providerOptions: true,
  toolChoice: true,
  toolOptions: true,
  instructionOptions: true,
} satisfies OptionNames<AiSdkSettings>;

const CALL_SETTINGS = [
  "maxOutputTokens",
  "temperature",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "stopSequences",
  "seed",
  "reasoning",
  "providerOptions",
  "toolChoice",
] as const satisfies (keyof AiSdkSettings & keyof LoopSettings)[];

/** The settings of an agent that go into every request and are pinned, as JSON. */
export function requestSettings(
  given: { readonly [S in (typeof CALL_SETTINGS)[number]]?: unknown },
  more: Pick<AiSdkSettings, "toolOptions" | "instructionOptions">,
  settings: Partial<AiSdkSettings>,
): Partial<AiSdkSettings> {
  assertOptions("`settings` of an agent", settings, SETTINGS_NAMES, { maxTokens: "maxOutputTokens" });
  const called = Object.fromEntries(CALL_SETTINGS.map((name) => [name, given[name]]));
  const filled = Object.entries(more).filter(([, value]) => Object.keys(value ?? {}).length > 0);
  const all = plainJson({
    ...called,
    ...Object.fromEntries(filled),
    ...givenOptions(settings, SETTINGS_NAMES),
  });
  return isJsonObject(all) ? all : {};
}
