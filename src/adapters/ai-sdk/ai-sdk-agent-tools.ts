import type { Tool as AiSdkTool } from "ai";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import { kindOf } from "../../core/naming/option-names.ts";
import { ownProperty } from "../../core/own-property.ts";
import { plainJson } from "../../core/plain-json.ts";
import { isTool, type Tool } from "../../engine/definition/tool.ts";
import { isToolSource, makeToolSource, type ToolSource } from "../../engine/definition/tool-source.ts";
import { type ApprovalContext, agentApproval, type ToolApproval } from "./ai-sdk-approval.ts";
import type { LoopSettings } from "./ai-sdk-settings.ts";
import { aiSdkTool, isProviderExecuted } from "./ai-sdk-tool.ts";

/**
 * A tool that a provider defines, as a structural type: a provider's package may bring another copy of the SDK's types
 * than `ai`, and then the compiler treats the same tool as a different type.
 */
type ProviderTool = {
  readonly type: "provider";
  readonly id: string;
  readonly args: object;
  readonly isProviderExecuted: boolean;
  readonly inputSchema: unknown;
};

export type GivenTool = Tool | AiSdkTool | ProviderTool | ToolSource;

export type ToolSettings = {
  readonly tools?: { readonly [name: string]: GivenTool };
  readonly activeTools?: readonly string[] | undefined;
  readonly toolOrder?: readonly string[] | undefined;
  readonly toolsContext?: { readonly [tool: string]: unknown } | undefined;
  readonly runtimeContext?: { readonly [name: string]: unknown };
  readonly toolApproval?: ToolApproval | undefined;
  readonly toolCallConcurrency?: number;
  readonly timeout?: LoopSettings["timeout"];
};

/** An agent's tools for the engine, and what the model adapter needs to know about them. */
export type AgentTools = {
  readonly tools: { readonly [name: string]: Tool | ToolSource };
  readonly toolOptions: { readonly [name: string]: JsonObject };
  readonly providerTools: { readonly [name: string]: AiSdkTool };
};

export function agentTools(agent: string, given: ToolSettings): AgentTools {
  const { toolsContext = {}, runtimeContext = {}, activeTools } = given;
  const context = { toolsContext, runtimeContext };
  const named = namedTools(given);
  assertKnown(agent, named, given.tools ?? {});
  const override = overrideOf(agent, given, context);
  const tools = new Map<string, Tool | ToolSource>();
  const toolOptions = new Map<string, JsonObject>();
  const providerTools = new Map<string, AiSdkTool>();
  for (const [name, tool] of inOrder(Object.entries(given.tools ?? {}), given.toolOrder)) {
    if (isToolSource(tool)) {
      tools.set(name, overriddenSource(agent, tool, override, activeTools, named));
      continue;
    }
    if (activeTools !== undefined && !activeTools.includes(name)) continue;
    if (isTool(tool)) {
      tools.set(name, override(name, tool));
      continue;
    }
    assertToolObject(agent, name, tool);
    const ofSdk = tool as AiSdkTool;
    tools.set(name, override(name, aiSdkTool(name, ofSdk, context)));
    if (ofSdk.type === "provider") providerTools.set(name, ofSdk);
    if (isProviderExecuted(ofSdk)) assertNotAsked(name, given.toolApproval);
    const { strict, inputExamples, providerOptions } = ofSdk;
    const options = plainJson({ strict, inputExamples, providerOptions });
    if (isJsonObject(options) && Object.keys(options).length > 0) toolOptions.set(name, options);
  }
  return {
    tools: Object.fromEntries(tools),
    toolOptions: Object.fromEntries(toolOptions),
    providerTools: Object.fromEntries(providerTools),
  };
}

function assertToolObject(agent: string, name: string, tool: unknown): void {
  if (typeof tool === "object" && tool !== null && !(tool instanceof Promise)) return;
  throw new ConfigurationError(
    `Tool ${name} of agent ${agent} is ${kindOf(tool)}: make it with tool({ description, inputSchema, execute }).`,
  );
}

/** The listed ones first, then the others by name, as the SDK orders them. */
function inOrder<T>(entries: [string, T][], order: readonly string[] | undefined): [string, T][] {
  if (order === undefined) return entries;
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return entries.toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

type ToolOverride = (name: string, tool: Tool) => Tool;

/** Applies the agent's settings to a tool of any origin. */
function overrideOf(agent: string, given: ToolSettings, context: ApprovalContext): ToolOverride {
  const isSequential = asksForSequential(agent, given.toolCallConcurrency);
  const timeoutOf = timeoutsOf(agent, given.timeout);
  return (name, tool) => {
    const approval = agentApproval(name, given.toolApproval, context);
    const timeoutMs = timeoutOf(name);
    return {
      ...tool,
      ...(approval === null ? {} : { approval }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(isSequential ? { exclusive: true } : {}),
    };
  };
}

function asksForSequential(agent: string, concurrency: number | undefined): boolean {
  if (concurrency === undefined || concurrency === 1) return concurrency === 1;
  throw new ConfigurationError(
    `Agent ${agent} has toolCallConcurrency ${concurrency}: set maxParallelToolCalls of the Runner instead, which applies to all its agents.`,
  );
}

function timeoutsOf(agent: string, timeout: LoopSettings["timeout"]): (tool: string) => number | undefined {
  if (timeout === undefined) return () => undefined;
  const { toolMs, tools = {}, ...rest } = typeof timeout === "number" ? { totalMs: timeout } : timeout;
  const other = Object.keys(rest)[0];
  if (other !== undefined)
    throw new ConfigurationError(
      `Agent ${agent} has the timeout ${other}: set modelTimeoutMs of the Runner for one model call, or give the run a deadline.`,
    );
  const ofTools: { readonly [name: string]: number | undefined } = tools;
  return (tool) => ofTools[`${tool}Ms`] ?? toolMs;
}

/** A source whose tools, known only once it is opened, get the agent's settings too. */
function overriddenSource(
  agent: string,
  source: ToolSource,
  override: ToolOverride,
  active: readonly string[] | undefined,
  named: readonly ToolReference[],
): ToolSource {
  return makeToolSource({
    name: source.name,
    places: source.places ?? [],
    open: async (name, opening) => {
      const opened = await source.open(name, opening);
      const unknown = named.find(
        (each) => each.tool.startsWith(`${name}__`) && !Object.hasOwn(opened.tools, each.tool),
      );
      if (unknown !== undefined) {
        await opened.close();
        throw noSuchTool(agent, unknown, Object.keys(opened.tools));
      }
      const tools = Object.entries(opened.tools)
        .filter(([tool]) => active?.includes(tool) !== false)
        .map(([tool, made]) => [tool, override(tool, made)] as const);
      return { tools: Object.fromEntries(tools), close: () => opened.close() };
    },
  });
}

/** A tool name in a setting. */
type ToolReference = { readonly setting: string; readonly tool: string };

/** The tools that settings name. They are checked: a misspelled one would silently lose its approval. */
function namedTools({
  toolApproval,
  activeTools,
  toolOrder,
  timeout,
}: ToolSettings): readonly ToolReference[] {
  const timed = typeof timeout === "object" ? Object.keys(timeout.tools ?? {}) : [];
  const names = {
    toolApproval: typeof toolApproval === "object" ? Object.keys(toolApproval) : [],
    activeTools: activeTools ?? [],
    toolOrder: toolOrder ?? [],
    "timeout.tools": timed.map((name) => name.replace(/Ms$/, "")),
  };
  return Object.entries(names).flatMap(([setting, tools]) => tools.map((tool) => ({ setting, tool })));
}

/** Names are checked here only if there are no sources; with sources, they are checked when those are opened. */
function assertKnown(
  agent: string,
  named: readonly ToolReference[],
  tools: NonNullable<ToolSettings["tools"]>,
): void {
  if (Object.values(tools).some(isToolSource)) return;
  const own = Object.keys(tools);
  const unknown = named.find(({ tool }) => !own.includes(tool));
  if (unknown !== undefined) throw noSuchTool(agent, unknown, own);
}

function noSuchTool(
  agent: string,
  { setting, tool }: ToolReference,
  names: readonly string[],
): ConfigurationError {
  const near = nearestName(tool, names);
  const advice = near === null ? `it has ${names.join(", ") || "none"}.` : `did you mean ${near}?`;
  return new ConfigurationError(
    `${setting} of agent ${agent} names the tool ${JSON.stringify(tool)}, which it does not have: ${advice}`,
  );
}

const UNASKED: readonly unknown[] = [undefined, "approved", "not-applicable"];

/** A provider-executed tool has already run when its call arrives, so it cannot be approved first. */
function assertNotAsked(name: string, toolApproval: ToolApproval | undefined): void {
  if (toolApproval === undefined) return;
  if (typeof toolApproval === "function")
    throw new ConfigurationError(
      `Tool ${name} is run by the provider, within its answer, so no toolApproval function can be called first: give toolApproval per tool, { … }, or leave the tool out.`,
    );
  const status = ownProperty(toolApproval, name);
  if (UNASKED.includes(isJsonObject(status) ? status.type : status)) return;
  throw new ConfigurationError(
    `Tool ${name} is run by the provider, within its answer, so it cannot be approved first: leave it out of toolApproval, or out of the tools.`,
  );
}
