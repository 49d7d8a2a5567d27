import type { LanguageModel, Output, SystemModelMessage, ToolLoopAgentSettings, ToolSet } from "ai";
import type { z } from "zod";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { plainJson } from "../../core/plain-json.ts";
import { type Agent, type AgentDefinition, defineAgent } from "../../engine/definition/agent.ts";
import type { Instructions } from "../../engine/definition/agent-prompt.ts";
import type { ModelPort } from "../../engine/ports/model-port.ts";
import { aiSdkModel } from "./ai-sdk.ts";
import { agentTools, type GivenTool } from "./ai-sdk-agent-tools.ts";
import type { ToolApproval } from "./ai-sdk-approval.ts";
import { isAiSdkOutput, outputSchemaOf } from "./ai-sdk-output.ts";
import {
  type AiSdkSettings,
  assertTakenSettings,
  type LoopSettings,
  requestSettings,
} from "./ai-sdk-settings.ts";
import { turnsUntilStop } from "./ai-sdk-stop.ts";

type SystemMessages = SystemModelMessage | readonly SystemModelMessage[];

/** What a `ToolLoopAgent` is set up with and that means the same here. */
type SharedSettings = Omit<
  LoopSettings,
  | "model"
  | "tools"
  | "instructions"
  | "output"
  | "toolsContext"
  | "toolApproval"
  | "activeTools"
  | "toolOrder"
>;

export type AgentOptions<O> = SharedSettings &
  Pick<AgentDefinition<O>, "slices" | "acceptCutAnswers" | "maxResultTokens"> & {
    /** `id`, as a `ToolLoopAgent` has it, unless said. */
    readonly name?: string;
    /** Any AI SDK `LanguageModel`, or a port of your own. */
    readonly model: LanguageModel | ModelPort;
    /** A text, a prompt template that is rendered from the session in every turn, or system messages of the AI SDK. */
    readonly instructions?: Instructions | SystemMessages;
    /** Tools made with `tool({ … })`, or `mcpTools({ … })` for all those of a server; a plain AI SDK tool works as it is. */
    readonly tools?: { readonly [name: string]: GivenTool };
    /** The tools that there are, by name; all unless said. */
    readonly activeTools?: readonly string[];
    /** Which tools the model is told of first. */
    readonly toolOrder?: readonly string[];
    /** What AI SDK tools get as their `context`, by name. */
    readonly toolsContext?: { readonly [tool: string]: unknown };
    /** Which calls a person has to let run, in the words of the AI SDK; it goes before what the tools say themselves. */
    readonly toolApproval?: ToolApproval;
    /** A zod schema, or an `Output.…({ … })` of the AI SDK. */
    readonly output?: z.ZodType<O> | Output.Output<O, unknown, unknown>;
    readonly settings?: Partial<AiSdkSettings>;
  };

type OutputOf<OUTPUT> = [OUTPUT] extends [never]
  ? string
  : OUTPUT extends Output.Output<infer O, unknown, unknown>
    ? O
    : unknown;

/** The settings of a `ToolLoopAgent`, as they are; `id` is its name unless there is one. */
export function agent<
  CALL_OPTIONS,
  TOOLS extends ToolSet,
  CONTEXT extends { [name: string]: unknown },
  OUTPUT extends Output.Output,
>(
  settings: ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, CONTEXT, OUTPUT> & {
    readonly name?: string;
    readonly maxResultTokens?: number;
  },
): Agent<OutputOf<OUTPUT>>;
/**
 * A model with its instructions, tools and settings.
 *
 * @example
 * const researcher = agent({ name: "researcher", model: openai("gpt-5.2"), instructions: "You research.", tools: { search } });
 */
export function agent<O = string>(options: AgentOptions<O>): Agent<O>;
export function agent(given: object): Agent<unknown> {
  assertSettings(given);
  // Both forms have the same settings under the same names; the first is only more exact about which tools there are.
  const options = given as AgentOptions<unknown>;
  const name = options.name ?? options.id;
  if (name === undefined)
    throw new ConfigurationError("An agent needs a name: give it one as `name`, or as the AI SDK's `id`.");
  assertTakenSettings(name, options);
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
  const { instructions, instructionOptions } = toldTo(options.instructions ?? "");
  const isPort = isModelPort(model);
  const needed = Object.keys(providerTools)[0];
  if (isPort && needed !== undefined)
    throw new ConfigurationError(
      `Agent ${name} has the provider's tool ${needed} and a model port of its own: give it a model of the AI SDK.`,
    );
  const { stopWhen, acceptCutAnswers } = options;
  const ofSdk = isAiSdkOutput(output) ? outputSchemaOf(output) : null;
  const schema = isAiSdkOutput(output) ? ofSdk?.schema : output;
  return defineAgent<unknown>({
    name,
    model: isPort ? model : aiSdkModel(model, { providerTools, headers, download }),
    instructions,
    tools,
    settings: requestSettings(options, { toolOptions, instructionOptions }, settings),
    ...(stopWhen === undefined ? {} : { maxTurns: turnsUntilStop(name, stopWhen) }),
    ...(slices === undefined ? {} : { slices }),
    ...(acceptCutAnswers === undefined ? {} : { acceptCutAnswers }),
    ...(maxResultTokens === undefined ? {} : { maxResultTokens }),
    ...(schema === undefined ? {} : { output: schema }),
    ...(ofSdk === null ? {} : { ready: ofSdk.ready }),
  });
}

/** An instance keeps its settings to itself, and looks like an object with one setting that nobody gave. */
function assertSettings(options: object): void {
  if (!("generate" in options && "stream" in options)) return;
  throw new ConfigurationError(
    "agent() was given a ToolLoopAgent, whose settings are private: give it the settings that you made that from.",
  );
}

function isModelPort(model: LanguageModel | ModelPort): model is ModelPort {
  return typeof model === "object" && "respond" in model;
}

/** System messages are one text here; what they say to the provider goes along with it. */
function toldTo(given: Instructions | SystemMessages): {
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

/** `Array.isArray` takes a list that may not be changed for anything. */
function isList(given: object): given is readonly SystemModelMessage[] {
  return Array.isArray(given);
}
