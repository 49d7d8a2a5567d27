import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { LONGEST_TOOL_NAME, providerToolName } from "../../core/call/tool-name.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { assertStepName } from "../../core/step-path.ts";
import type { CompletionRule } from "../../core/turn/completion.ts";
import { type Completion, completionRule } from "../../core/turn/completion.ts";
import {
  type FingerprintDocument,
  POLICY_VERSION,
  toolSchemaHash,
} from "../../core/turn/turn-fingerprint.ts";
import { estimatorFor, type TextEstimator, type TokenEstimator } from "../../core/usage/token-estimate.ts";
import type { Slice } from "../../session/slice.ts";
import { SliceSet } from "../../session/slice-set.ts";
import type { ModelPort, ModelSettings, ModelTool } from "../ports/model-port.ts";
import { hasTooDeepArguments, tooDeepArguments } from "../ports/model-response.ts";
import { type AgentPrompt, agentPrompt, type Instructions } from "./agent-prompt.ts";
import { KEY_STAND_IN, type PreparedTool, prepareTool, withKey } from "./prepared-tool.ts";
import { sessionTools } from "./session-tools.ts";
import { isTool, type Tool } from "./tool.ts";
import { isToolSource, type ToolSource } from "./tool-source.ts";
import type { ValueSchema } from "./value-schema.ts";

const AGENT = Symbol.for("pawl.agent");

/** A model with its instructions, tools and settings. Make one with `agent({ … })`. */
export type Agent<O = unknown> = {
  readonly [AGENT]: true;
  readonly name: string;
  readonly model: ModelPort;
  readonly prompt: AgentPrompt;
  /** Its own tools, and those of its prompt. */
  readonly tools: { readonly [name: string]: Tool };
  /** Its tool sources, by the prefix of their tools' names. */
  readonly sources: { readonly [name: string]: ToolSource };
  readonly slices: readonly Slice[];
  /** Null: its output is text. */
  readonly output: ValueSchema | null;
  /** Type only: never has a value. The output is stored, so it is JSON: a `Date` is a string. */
  readonly outputType?: O;
  readonly settings: ModelSettings;
  /** The most turns that it may take where its step sets none; null: the default of steps. */
  readonly maxTurns: number | null;
  /** True if an answer that was cut off at `maxOutputTokens` may be its output. */
  readonly acceptCutAnswers: boolean;
  /** The most tokens of one tool result that it sees where its step sets none; null: a share of its history. */
  readonly maxResultTokens: number | null;
};

/** The parts of an agent, independent of the model library. */
export type AgentDefinition = {
  readonly name: string;
  readonly model: ModelPort;
  /** A text, or a prompt template that is rendered from the session in every turn. */
  readonly instructions?: Instructions;
  /** Tools by name, and tool sources; the key of a source is the prefix of its tools' names. */
  readonly tools?: { readonly [name: string]: Tool | ToolSource };
  /** The slices that its tools change, in addition to those of its prompt. */
  readonly slices?: readonly Slice[];
  readonly output?: ValueSchema;
  readonly settings?: Partial<ModelSettings>;
  /** The most turns that it may take, unless its step sets `maxTurns`; 20 by default. */
  readonly maxTurns?: number;
  /** Accepts an answer cut off at `settings.maxOutputTokens`. By default the model is asked for a shorter one. */
  readonly acceptCutAnswers?: boolean;
  /** The most tokens of one tool result that it sees, unless its step sets them; by default a third of `historyMaxTokens`. */
  readonly maxResultTokens?: number;
};

/** Every request carries a cap: without one, its cost could not be reserved beforehand. */
const DEFAULT_MAX_OUTPUT_TOKENS = 4_096;

export function defineAgent<O = string>(definition: AgentDefinition): Agent<O> {
  assertStepName("agent", definition.name);
  if (typeof definition.model !== "object" || definition.model === null)
    throw new ConfigurationError(`Agent ${definition.name} has no model: give it an AI SDK model.`);
  const settings: ModelSettings = { maxOutputTokens: DEFAULT_MAX_OUTPUT_TOKENS, ...definition.settings };
  if (!Number.isSafeInteger(settings.maxOutputTokens) || settings.maxOutputTokens < 1) {
    throw new ConfigurationError(
      `maxOutputTokens of agent ${definition.name} is ${settings.maxOutputTokens}: give a whole number of at least 1.`,
    );
  }
  for (const limit of ["maxResultTokens", "maxTurns"] as const) {
    const { [limit]: value = 1 } = definition;
    if (Number.isSafeInteger(value) && value >= 1) continue;
    throw new ConfigurationError(
      `${limit} of agent ${definition.name} is ${value}: give a whole number of at least 1.`,
    );
  }
  const { tools, sources } = splitTools(definition);
  assertToolNames(definition.name, tools);
  const prompt = agentPrompt(definition.name, definition.instructions ?? "");
  const { slices = [] } = definition;
  const taken = prompt.tools.find(({ name }) => Object.hasOwn(tools, name));
  if (taken !== undefined)
    throw new ConfigurationError(
      `Agent ${definition.name} has a tool ${taken.name}, and its prompt adds one of the same name: rename yours.`,
    );
  return {
    [AGENT]: true,
    name: definition.name,
    model: definition.model,
    prompt,
    tools: { ...tools, ...sessionTools(prompt.tools) },
    sources,
    slices: [...new SliceSet([...prompt.slices, ...slices])],
    output: definition.output ?? null,
    settings,
    maxTurns: definition.maxTurns ?? null,
    acceptCutAnswers: definition.acceptCutAnswers ?? false,
    maxResultTokens: definition.maxResultTokens ?? null,
  };
}

function splitTools({ name: agent, tools: given = {} }: Pick<AgentDefinition, "name" | "tools">) {
  const tools = new Map<string, Tool>();
  const sources = new Map<string, ToolSource>();
  for (const [name, tool] of Object.entries(given)) {
    if (isToolSource(tool)) sources.set(name, tool);
    else if (isTool(tool)) tools.set(name, tool);
    else
      throw new ConfigurationError(
        `Tool ${name} of agent ${agent} is not a tool: make it with tool({ … }) or mcpTools({ … }).`,
      );
  }
  return { tools: Object.fromEntries(tools), sources: Object.fromEntries(sources) };
}

/** Providers refuse a request with any other tool name, so it is checked before there is a run. */
function assertToolNames(agent: string, tools: Agent["tools"]): void {
  const named = Object.entries(tools).map(([key, tool]) => [key, tool.name ?? key] as const);
  for (const [, name] of named) {
    const spelled = providerToolName(name);
    if (name !== "" && name === spelled && name.length <= LONGEST_TOOL_NAME) continue;
    const suggested = spelled.slice(0, LONGEST_TOOL_NAME).replaceAll(/^_+|_+$/g, "");
    throw new ConfigurationError(
      `Agent ${agent} has a tool named ${JSON.stringify(name)}, which model providers refuse: use 1 to ${LONGEST_TOOL_NAME} letters, digits, "_" or "-"${suggested === "" ? "" : `, such as ${JSON.stringify(suggested)}`}.`,
    );
  }
  assertUniqueNames(agent, named);
}

function assertUniqueNames(agent: string, named: readonly (readonly [key: string, name: string])[]): void {
  for (const [index, [key, name]] of named.entries()) {
    const first = named.find(([, other]) => other === name);
    if (first === named[index] || first === undefined) continue;
    throw new ConfigurationError(
      `Agent ${agent} has two tools named ${JSON.stringify(name)}, under tools.${first[0]} and tools.${key}: rename one of them.`,
    );
  }
}

export function isAgent(value: unknown): value is Agent {
  return typeof value === "object" && value !== null && AGENT in value;
}

/** An agent whose schemas have been read, ready for its turns. */
export type PreparedAgent = {
  readonly agent: Agent;
  readonly prompt: AgentPrompt;
  readonly tools: ReadonlyMap<string, PreparedTool>;
  readonly modelTools: readonly ModelTool[];
  readonly outputSchema: JsonObject | null;
  readonly completion: CompletionRule;
  /** The tokens that the schemas add to every request. */
  readonly schemaTokens: number;
  /** Estimates the tokens of a text for its model. */
  readonly estimate: TextEstimator;
};

/** Reads the schemas of an agent. `sourceTools` are the tools of its sources. */
export async function prepareAgent(
  agent: Agent,
  sourceTools: Agent["tools"],
  completion: Completion,
  estimateTokens: TokenEstimator,
  policy: ToolPolicy,
): Promise<PreparedAgent> {
  const estimate = estimatorFor(estimateTokens, agent.model);
  const given = Object.entries({ ...sourceTools, ...agent.tools });
  const prepared = await Promise.all(given.map(([key, tool]) => prepareTool(key, tool, policy)));
  const tools = new Map(prepared.map((tool) => [tool.name, tool]));
  assertUniqueNames(
    agent.name,
    given.map(([key, tool]) => [key, tool.name ?? key]),
  );
  const outputSchema = agent.output === null ? null : await agent.output.jsonSchema();
  return {
    agent,
    prompt: agent.prompt,
    tools,
    modelTools: prepared.map(modelTool),
    schemaTokens:
      prepared.reduce(
        (sum, tool) => sum + estimate(`${tool.description}${JSON.stringify(tool.modelSchema)}`),
        0,
      ) + (outputSchema === null ? 0 : estimate(JSON.stringify(outputSchema))),
    outputSchema,
    estimate,
    completion: completionRule(completion, agent.prompt.staticText, outputSchema),
  };
}

function modelTool(tool: PreparedTool): ModelTool {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: tool.modelSchema,
    // The model's own input is stored and sent back; it is parsed again when the tool runs.
    validate: async (input) => {
      if (hasTooDeepArguments(input)) return { ok: false, error: tooDeepArguments(tool.name) };
      const parsed = await tool.input.parse(withKey(tool, input, KEY_STAND_IN));
      return parsed.ok ? { ok: true, value: input as Json } : parsed;
    },
  };
}

/** The fingerprint without its input: everything that shapes the run and is known before it starts. */
export function fingerprintDocument(
  { agent, tools, outputSchema, completion }: PreparedAgent,
  switches: JsonObject,
  pricingPlan: string,
): Omit<FingerprintDocument, "input"> {
  const hashes = [...tools.values()].map((tool) => {
    const qualifiedName = `${tool.namespace}:${tool.name}`;
    return [qualifiedName, toolSchemaHash(qualifiedName, [tool.description, tool.modelSchema])] as const;
  });
  return {
    prompt: agent.prompt.document,
    model: agent.model.modelId,
    provider: agent.model.provider,
    pricingPlan,
    tools: Object.fromEntries(hashes),
    settings: { ...agent.settings },
    policyVersion: POLICY_VERSION,
    switches: {
      ...switches,
      completion: typeof completion.completion === "function" ? "predicate" : completion.completion,
      outputSchema,
      // Only if set, so that runs without it keep their fingerprint.
      ...(agent.acceptCutAnswers ? { acceptCutAnswers: true } : {}),
    },
  };
}
