import type { ToolLoopAgentSettings, ToolSet } from "ai";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { ModelSettings } from "../../engine/ports/model-port.ts";

export type LoopSettings = ToolLoopAgentSettings<never, ToolSet>;

/** What a model of the AI SDK can be told beyond what every model can. All of it is pinned with the run. */
export type AiSdkSettings = ModelSettings & {
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly toolChoice?: NonNullable<LoopSettings["toolChoice"]>;
  /** What a provider is told of a tool beside its description: `strict`, `inputExamples`, `providerOptions`. */
  readonly toolOptions?: { readonly [tool: string]: JsonObject };
  /** The `providerOptions` of the instructions, such as where a cache may end. */
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

/** They say nothing about what the agent does: how often to try again, what to measure, what to keep in memory. */
const IGNORED = [
  "maxRetries",
  "telemetry",
  "experimental_telemetry",
  "include",
  "allowSystemInMessages",
  "experimental_toolApprovalSecret",
  "_internal",
] as const satisfies (keyof LoopSettings)[];

/** Nobody would call them, and somebody may count on it. */
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

type Listed =
  | (typeof USED)[number]
  | (typeof IGNORED)[number]
  | (typeof OBSERVERS)[number]
  | (typeof REPAIRS)[number];

const PINNED =
  "what a run began with stays as it is: let a promptTemplate({ … }) say what changes, or make several steps";

/** What to do instead of a setting that shapes a run and cannot be pinned. One that a later SDK adds is missing here, and does not compile. */
const INSTEAD: { readonly [S in Exclude<keyof LoopSettings, Listed>]: string } = {
  prepareStep: PINNED,
  prepareCall: PINNED,
  callOptionsSchema: "what a run is called with is its input: runner.run(input)",
  experimental_refineToolInput: "let the tool's inputSchema transform its input, or its execute function",
  experimental_toolCallers: "a tool is called by the model, or by code with ctx.call(tool, …)",
};

const REFUSED: ReadonlyMap<string, string> = new Map([
  ...Object.entries(INSTEAD),
  ...OBSERVERS.map(
    (name) => [name, "listen to the run with runner.stream(…) or the Runner's onEvent instead"] as const,
  ),
  ...REPAIRS.map(
    (name) => [name, "a model whose arguments do not fit is told what is wrong, and asks again"] as const,
  ),
]);

/** With what only `agent` knows. */
const TAKEN: ReadonlySet<string> = new Set([
  ...USED,
  ...IGNORED,
  "name",
  "slices",
  "settings",
  "acceptCutAnswers",
  "maxResultTokens",
]);

/** A setting that is neither used nor refused would be one that somebody relies on and nobody keeps. */
export function assertTakenSettings(agent: string, given: object): void {
  for (const [setting, value] of Object.entries(given)) {
    if (value === undefined || TAKEN.has(setting)) continue;
    const instead = REFUSED.get(setting);
    throw new ConfigurationError(
      instead === undefined
        ? `Agent ${agent} has a setting ${JSON.stringify(setting)} that nobody knows: correct its name, or leave it out.`
        : `Agent ${agent} cannot have ${setting}: ${instead}.`,
    );
  }
}

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

/** What of an agent's settings goes into every request and is pinned, as JSON. */
export function requestSettings(
  given: { readonly [S in (typeof CALL_SETTINGS)[number]]?: unknown },
  more: Pick<AiSdkSettings, "toolOptions" | "instructionOptions">,
  settings: Partial<AiSdkSettings>,
): Partial<AiSdkSettings> {
  const called = Object.fromEntries(CALL_SETTINGS.map((name) => [name, given[name]]));
  const filled = Object.entries(more).filter(([, value]) => Object.keys(value ?? {}).length > 0);
  const all = plainJson({ ...called, ...Object.fromEntries(filled), ...settings });
  return isJsonObject(all) ? all : {};
}
