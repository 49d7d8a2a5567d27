import type { z } from "zod";
import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { SchemaCheck } from "../../core/json-schema-check.ts";
import { assertStepName } from "../../core/step-path.ts";
import type { CompletionRule } from "../../core/turn/completion.ts";
import { type Completion, completionRule } from "../../core/turn/completion.ts";
import {
  type FingerprintDocument,
  POLICY_VERSION,
  toolSchemaHash,
} from "../../core/turn/turn-fingerprint.ts";
import { estimatorFor, type TextEstimator, type TokenEstimator } from "../../core/usage/token-estimate.ts";
import { zodJsonSchema } from "../../core/zod-json-schema.ts";
import type { Slice } from "../../session/slice.ts";
import { SliceSet } from "../../session/slice-set.ts";
import type { ModelPort, ModelSettings, ModelTool } from "../ports/model-port.ts";
import { hasTooDeepArguments, tooDeepArguments } from "../ports/model-response.ts";
import { type AgentPrompt, agentPrompt, type Instructions } from "./agent-prompt.ts";
import { KEY_STAND_IN, type PreparedTool, prepareTool, withKey } from "./prepared-tool.ts";
import { sessionTools } from "./session-tools.ts";
import { isTool, type Tool } from "./tool.ts";
import { isToolSource, type ToolSource } from "./tool-source.ts";

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
  readonly output: z.ZodType<O> | null;
  /** Replaces zod's check of an answer against the output schema; null: zod checks it. */
  readonly checkOutput: OutputCheck | null;
  readonly settings: ModelSettings;
  /** The most turns that it may take where its step sets none; null: the default of steps. */
  readonly maxTurns: number | null;
  /** True if an answer that was cut off at `maxOutputTokens` may be its output. */
  readonly acceptCutAnswers: boolean;
  /** The most tokens of one tool result that it sees where its step sets none; null: a share of its history. */
  readonly maxResultTokens: number | null;
  /** Resolves once the definition is complete: the output schema may load asynchronously. */
  readonly ready: () => Promise<void>;
};

type OutputCheck = (answer: Json) => Promise<SchemaCheck>;

/** The parts of an agent, independent of the model library. */
export type AgentDefinition<O> = {
  readonly name: string;
  readonly model: ModelPort;
  /** A text, or a prompt template that is rendered from the session in every turn. */
  readonly instructions?: Instructions;
  /** Tools by name, and tool sources; the key of a source is the prefix of its tools' names. */
  readonly tools?: { readonly [name: string]: Tool | ToolSource };
  /** The slices that its tools change, in addition to those of its prompt. */
  readonly slices?: readonly Slice[];
  readonly output?: z.ZodType<O>;
  readonly checkOutput?: OutputCheck;
  readonly settings?: Partial<ModelSettings>;
  /** The most turns that it may take, unless its step sets `maxTurns`; 20 by default. */
  readonly maxTurns?: number;
  /** Accepts an answer cut off at `settings.maxOutputTokens`. By default the model is asked for a shorter one. */
  readonly acceptCutAnswers?: boolean;
  /** The most tokens of one tool result that it sees, unless its step sets them; by default a third of `historyMaxTokens`. */
  readonly maxResultTokens?: number;
  readonly ready?: () => Promise<void>;
};

/** Every request carries a cap: without one, its cost could not be reserved beforehand. */
const DEFAULT_MAX_OUTPUT_TOKENS = 4_096;

export function defineAgent<O = string>(definition: AgentDefinition<O>): Agent<O> {
  assertStepName("agent", definition.name);
  if (typeof definition.model !== "object" || definition.model === null)
    throw new ConfigurationError(`Agent ${definition.name} has no model: give it an AI SDK model.`);
  if (definition.output !== undefined)
    zodJsonSchema(definition.output, `The output schema of agent ${definition.name}`);
  const settings: ModelSettings = { maxOutputTokens: DEFAULT_MAX_OUTPUT_TOKENS, ...definition.settings };
  if (!Number.isSafeInteger(settings.maxOutputTokens) || settings.maxOutputTokens < 1) {
    throw new ConfigurationError(
      `maxOutputTokens of agent ${definition.name} is ${settings.maxOutputTokens}: give a whole number of at least 1.`,
    );
  }
  const { maxResultTokens = 1 } = definition;
  if (!Number.isSafeInteger(maxResultTokens) || maxResultTokens < 1)
    throw new ConfigurationError(
      `maxResultTokens of agent ${definition.name} is ${maxResultTokens}: give a whole number of at least 1.`,
    );
  const { tools, sources } = splitTools(definition);
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
    checkOutput: definition.checkOutput ?? null,
    settings,
    maxTurns: definition.maxTurns ?? null,
    acceptCutAnswers: definition.acceptCutAnswers ?? false,
    maxResultTokens: definition.maxResultTokens ?? null,
    ready: definition.ready ?? (() => Promise.resolve()),
  };
}

function splitTools({ name: agent, tools: given = {} }: Pick<AgentDefinition<unknown>, "name" | "tools">) {
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
  await agent.ready();
  const estimate = estimatorFor(estimateTokens, agent.model);
  const prepared = await Promise.all(
    Object.entries({ ...sourceTools, ...agent.tools }).map(([key, tool]) => prepareTool(key, tool, policy)),
  );
  const tools = new Map(prepared.map((tool) => [tool.name, tool]));
  if (tools.size < prepared.length) {
    throw new ConfigurationError(`Two tools of agent ${agent.name} have the same name: rename one of them.`);
  }
  const outputSchema = agent.output === null ? null : zodJsonSchema(agent.output);
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
