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
  assertAcceptedSettings,
  type LoopSettings,
  requestSettings,
} from "./ai-sdk-settings.ts";
import { turnsUntilStop } from "./ai-sdk-stop.ts";

type SystemMessages = SystemModelMessage | readonly SystemModelMessage[];

/** The settings of a `ToolLoopAgent` that mean the same here. */
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
    /** Defaults to `id`, the name of a `ToolLoopAgent`. */
    readonly name?: string;
    /** Any AI SDK `LanguageModel`, or your own port. */
    readonly model: LanguageModel | ModelPort;
    /** A text, a prompt template that is rendered from the session in every turn, or AI SDK system messages. */
    readonly instructions?: Instructions | SystemMessages;
    /** Tools made with `tool({ … })`, `mcpTools({ … })` for all tools of a server, or plain AI SDK tools. */
    readonly tools?: { readonly [name: string]: GivenTool };
    /** The names of the tools to offer; by default all. */
    readonly activeTools?: readonly string[];
    /** The tools to list first for the model. */
    readonly toolOrder?: readonly string[];
    /** The `context` of AI SDK tools, by tool name. */
    readonly toolsContext?: { readonly [tool: string]: unknown };
    /** The calls that need a person's approval, in the AI SDK's format; it overrides the tools' own settings. */
    readonly toolApproval?: ToolApproval;
    /** A zod schema, or an AI SDK `Output.…({ … })`. */
    readonly output?: z.ZodType<O> | Output.Output<O, unknown, unknown>;
    readonly settings?: Partial<AiSdkSettings>;
  };

type OutputOf<OUTPUT> = [OUTPUT] extends [never]
  ? string
  : OUTPUT extends Output.Output<infer O, unknown, unknown>
    ? O
    : unknown;

/** Takes the settings of a `ToolLoopAgent` unchanged; `id` is the name unless `name` is given. */
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
  // Both overloads have the same settings under the same names; the first only types the tools more exactly.
  const options = given as AgentOptions<unknown>;
  const name = options.name ?? options.id;
  if (name === undefined)
    throw new ConfigurationError("An agent needs a name: give it one as `name`, or as the AI SDK's `id`.");
  assertAcceptedSettings(name, options);
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

/** Refuses a `ToolLoopAgent` instance: its settings are private, and it looks like an object with one odd setting. */
function assertSettings(options: object): void {
  if (!("generate" in options && "stream" in options)) return;
  throw new ConfigurationError(
    "agent() was given a ToolLoopAgent, whose settings are private: pass the settings that it was made from.",
  );
}

function isModelPort(model: LanguageModel | ModelPort): model is ModelPort {
  return typeof model === "object" && "respond" in model;
}

/** A provider-defined tool needs an AI SDK model. */
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
