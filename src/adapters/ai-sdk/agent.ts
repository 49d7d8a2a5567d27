import type { LanguageModel, Output, SystemModelMessage, ToolSet } from "ai";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type Jsonified, type JsonObject } from "../../core/json.ts";
import { kindOf, type OptionNames } from "../../core/naming/option-names.ts";
import { plainJson } from "../../core/plain-json.ts";
import type { AnySchema } from "../../core/standard-schema.ts";
import { type Agent, type AgentDefinition, defineAgent } from "../../engine/definition/agent.ts";
import type { Instructions } from "../../engine/definition/agent-prompt.ts";
import {
  assertJsonSchema,
  isSchema,
  type ValueSchema,
  valueSchema,
} from "../../engine/definition/value-schema.ts";
import type { ModelPort } from "../../engine/ports/model-port.ts";
import { aiSdkModel } from "./ai-sdk.ts";
import { agentTools, type GivenTool } from "./ai-sdk-agent-tools.ts";
import type { ToolApprovalOf } from "./ai-sdk-approval.ts";
import { assertModel } from "./ai-sdk-model-check.ts";
import { isAiSdkOutput, outputSchemaOf } from "./ai-sdk-output.ts";
import {
  type AiSdkSettings,
  assertAcceptedSettings,
  type LoopSettings,
  type RefusedSetting,
  requestSettings,
} from "./ai-sdk-settings.ts";
import { type StopWhen, turnsUntilStop } from "./ai-sdk-stop.ts";

type SystemMessages = SystemModelMessage | readonly SystemModelMessage[];

/** The settings of a `ToolLoopAgent` that mean the same here. Those that `agent` refuses are left out. */
type SharedSettings = Omit<
  LoopSettings,
  | RefusedSetting
  | "model"
  | "tools"
  | "instructions"
  | "output"
  | "toolsContext"
  | "toolApproval"
  | "activeTools"
  | "toolOrder"
  | "stopWhen"
>;

export type GivenTools = { readonly [name: string]: GivenTool };

/**
 * The argument of `agent({ … })`: the settings of a `ToolLoopAgent`, and Pawl's own. The settings of a `ToolLoopAgent` that would change a run while it runs (`prepareStep` …), and
 * its callbacks (`onFinish` …), are not among them: `agent` refuses them, and says what to use instead.
 */
export type AgentOptions<O, TOOLS = GivenTools> = SharedSettings &
  Pick<AgentDefinition, "slices" | "acceptCutAnswers" | "maxResultTokens" | "maxTurns"> & {
    /** Names the agent in events, errors and the store. Defaults to `id`, the name of a `ToolLoopAgent`. */
    readonly name?: string;
    /** Any AI SDK `LanguageModel`, or your own port. */
    readonly model: LanguageModel | ModelPort;
    /** A text, a prompt template that is rendered from the session in every turn, or AI SDK system messages. */
    readonly instructions?: Instructions | SystemMessages;
    /** Tools made with `tool({ … })`, `mcpTools({ … })` for all tools of a server, or plain AI SDK tools. */
    readonly tools?: TOOLS;
    /** The names of the tools to offer; by default all. */
    readonly activeTools?: readonly string[] | undefined;
    /** The tools to list first for the model. */
    readonly toolOrder?: readonly string[] | undefined;
    /** The `context` of AI SDK tools, by tool name. */
    readonly toolsContext?: { readonly [tool: string]: unknown } | undefined;
    /** The calls that need a person's approval, in the AI SDK's format; it overrides the tools' own settings. */
    readonly toolApproval?: ToolApprovalOf<NoInfer<TOOLS>> | undefined;
    /** The most turns, as `isStepCount(n)`. */
    readonly stopWhen?: StopWhen | undefined;
    /**
     * The schema of its answer; by default the answer is a text. A schema of zod, or of any library that follows Standard Schema and can give a JSON Schema; `jsonSchema(…)` or an
     * `Output.…({ … })` of the AI SDK.
     */
    readonly output?: AnySchema<O> | Output.Output<O, unknown, unknown>;
    /** The settings of its requests, in addition to those above; see `ModelSettings`. */
    readonly settings?: Partial<AiSdkSettings>;
  };

/**
 * A model with its instructions, tools and settings. Takes the settings of a `ToolLoopAgent` unchanged; `id` is the name
 * unless `name` is given. Without `output`, the agent's output is text.
 *
 * @example
 * const researcher = agent({ name: "researcher", model: openai("gpt-5.2"), instructions: "You research.", tools: { search } });
 */
export function agent<O = string, TOOLS extends GivenTools = GivenTools>(
  given: AgentOptions<O, TOOLS>,
): Agent<Jsonified<O>> {
  assertSettings(given);
  // The exact types of the tools only type the settings beside them.
  const options = given as AgentOptions<O>;
  const name = options.name ?? options.id;
  if (name === undefined)
    throw new ConfigurationError("An agent needs a name: give it one as `name`, or as the AI SDK's `id`.");
  assertAcceptedSettings(name, options, OWN_NAMES);
  assertModel(name, options.model);
  assertToolsNamed(name, options.tools);
  const {
    model,
    headers,
    experimental_download: download,
    output,
    slices,
    maxResultTokens,
    settings = {},
  } = options;
  const { tools, toolOptions, providerTools } = agentTools(name, options);
  const { instructions, instructionOptions } = splitInstructions(options.instructions ?? "");
  const isPort = isModelPort(model);
  if (isPort) assertNoProviderTools(name, providerTools);
  const { acceptCutAnswers } = options;
  const maxTurns = maxTurnsOf(name, options);
  const schema = outputOf(name, output);
  return defineAgent<Jsonified<O>>({
    name,
    model: isPort ? model : aiSdkModel(model, { providerTools, headers, download }),
    instructions,
    tools,
    settings: requestSettings(options, { toolOptions, instructionOptions }, settings),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(slices === undefined ? {} : { slices }),
    ...(acceptCutAnswers === undefined ? {} : { acceptCutAnswers }),
    ...(maxResultTokens === undefined ? {} : { maxResultTokens }),
    ...(schema === null ? {} : { output: schema }),
  });
}

function outputOf(agent: string, given: AgentOptions<unknown>["output"]): ValueSchema | null {
  if (given === undefined) return null;
  if (isAiSdkOutput(given)) return outputSchemaOf(given);
  if (!isSchema(given))
    throw new ConfigurationError(
      `The output of agent ${agent} is ${kindOf(given)} and not a schema: give a zod schema, z.object({ … }), or Output.object({ schema }) of the AI SDK.`,
    );
  const schema = valueSchema(given, `The output schema of agent ${agent}`);
  assertJsonSchema(schema);
  return schema;
}

const OWN_NAMES = {
  name: true,
  slices: true,
  settings: true,
  acceptCutAnswers: true,
  maxResultTokens: true,
  maxTurns: true,
} satisfies OptionNames<Omit<AgentOptions<unknown>, keyof LoopSettings>>;

function maxTurnsOf(
  name: string,
  { maxTurns, stopWhen }: Pick<AgentOptions<unknown>, "maxTurns" | "stopWhen">,
): number | undefined {
  if (stopWhen === undefined) return maxTurns;
  if (maxTurns === undefined) return turnsUntilStop(name, stopWhen);
  throw new ConfigurationError(`Agent ${name} has maxTurns and stopWhen: give one of them.`);
}

/** Refuses a `ToolLoopAgent` instance: its settings are private, and it looks like an object with one odd setting. */
function assertSettings(options: unknown): asserts options is object {
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError(
      `agent() was given ${kindOf(options)}: give it an object, agent({ name, model, instructions }).`,
    );
  if (!("generate" in options && "stream" in options)) return;
  throw new ConfigurationError(
    "agent() was given a ToolLoopAgent, whose settings are private: pass the settings that it was made from.",
  );
}

function isModelPort(model: LanguageModel | ModelPort): model is ModelPort {
  return typeof model === "object" && "respond" in model;
}

/** A provider-defined tool needs an AI SDK model. */
function assertToolsNamed(name: string, tools: unknown): void {
  if (!Array.isArray(tools)) return;
  throw new ConfigurationError(
    `The tools of agent ${name} are a list: give an object with a name for each, such as tools: { send_mail: … }.`,
  );
}

function assertNoProviderTools(name: string, providerTools: ToolSet): void {
  const needed = Object.keys(providerTools)[0];
  if (needed === undefined) return;
  throw new ConfigurationError(
    `Agent ${name} has the provider-defined tool ${needed} and a custom model port: give it an AI SDK model.`,
  );
}

/** The instructions as one text, and the `providerOptions` of system messages merged. */
function splitInstructions(given: Instructions | SystemMessages): {
  readonly instructions: Instructions;
  readonly instructionOptions: JsonObject;
} {
  const messages = systemMessages(given);
  if (messages === null) return { instructions: given as Instructions, instructionOptions: {} };
  const options = plainJson(Object.assign({}, ...messages.map(({ providerOptions }) => providerOptions)));
  return {
    instructions: messages.map(({ content }) => content).join("\n\n"),
    instructionOptions: isJsonObject(options) ? options : {},
  };
}

function systemMessages(given: Instructions | SystemMessages): readonly SystemModelMessage[] | null {
  if (typeof given === "string") return null;
  if (isList(given)) return given;
  return "role" in given && given.role === "system" ? [given] : null;
}

/** `Array.isArray` does not narrow to a readonly array. */
function isList(given: object): given is readonly SystemModelMessage[] {
  return Array.isArray(given);
}
