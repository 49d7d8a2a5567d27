import type { Tool as AiSdkTool } from "ai";
import { ConfigurationError } from "../../core/errors.ts";
import { nearestName } from "../../core/job/run-spec-spelling.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import { plainJson } from "../../core/plain-json.ts";
import { isTool, type Tool } from "../../engine/definition/tool.ts";
import { isToolSource, makeToolSource, type ToolSource } from "../../engine/definition/tool-source.ts";
import { type ApprovalContext, agentApproval, type ToolApproval } from "./ai-sdk-approval.ts";
import type { LoopSettings } from "./ai-sdk-settings.ts";
import { aiSdkTool, isProviderExecuted } from "./ai-sdk-tool.ts";

/**
 * A tool that a provider defines, by what it looks like: the package of a provider may bring another copy of the SDK's
 * types than `ai` has, and then the compiler takes the same tool for another one.
 */
export type ProviderTool = {
  readonly type: "provider";
  readonly id: string;
  readonly args: object;
  readonly isProviderExecuted: boolean;
  readonly inputSchema: unknown;
};

export type GivenTool = Tool | AiSdkTool | ProviderTool | ToolSource;

export type ToolSettings = {
  readonly tools?: { readonly [name: string]: GivenTool };
  readonly activeTools?: readonly string[];
  readonly toolOrder?: readonly string[];
  readonly toolsContext?: { readonly [tool: string]: unknown };
  readonly runtimeContext?: { readonly [name: string]: unknown };
  readonly toolApproval?: ToolApproval;
  readonly toolCallConcurrency?: number;
  readonly timeout?: LoopSettings["timeout"];
};

/** An agent's tools as the engine takes them, and what the model's adapter has to know of them beside that. */
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
  const change = changeOf(agent, given, context);
  const tools = new Map<string, Tool | ToolSource>();
  const toolOptions = new Map<string, JsonObject>();
  const providerTools = new Map<string, AiSdkTool>();
  for (const [name, tool] of inOrder(Object.entries(given.tools ?? {}), given.toolOrder)) {
    if (isToolSource(tool)) {
      tools.set(name, changedSource(agent, tool, change, activeTools, named));
      continue;
    }
    if (activeTools !== undefined && !activeTools.includes(name)) continue;
    if (isTool(tool)) {
      tools.set(name, change(name, tool));
      continue;
    }
    const ofSdk = tool as AiSdkTool;
    tools.set(name, change(name, aiSdkTool(name, ofSdk, context)));
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

/** The listed ones first, then the others by name, as the SDK does it. */
function inOrder<T>(entries: [string, T][], order: readonly string[] | undefined): [string, T][] {
  if (order === undefined) return entries;
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return entries.toSorted(([a], [b]) => place(a) - place(b) || (a < b ? -1 : 1));
}

type Change = (name: string, tool: Tool) => Tool;

/** What the agent's settings change about a tool, whoever made it. */
function changeOf(agent: string, given: ToolSettings, context: ApprovalContext): Change {
  const isOneByOne = asksForOneByOne(agent, given.toolCallConcurrency);
  const timeoutOf = timeoutsOf(agent, given.timeout);
  return (name, tool) => {
    const approval = agentApproval(name, given.toolApproval, context);
    const timeoutMs = timeoutOf(name);
    return {
      ...tool,
      ...(approval === null ? {} : { approval }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(isOneByOne ? { exclusive: true } : {}),
    };
  };
}

function asksForOneByOne(agent: string, concurrency: number | undefined): boolean {
  if (concurrency === undefined || concurrency === 1) return concurrency === 1;
  throw new ConfigurationError(
    `Agent ${agent} has toolCallConcurrency ${concurrency}: give the Runner maxParallelToolCalls, which holds for all its agents.`,
  );
}

function timeoutsOf(agent: string, timeout: LoopSettings["timeout"]): (tool: string) => number | undefined {
  if (timeout === undefined) return () => undefined;
  const { toolMs, tools = {}, ...rest } = typeof timeout === "number" ? { totalMs: timeout } : timeout;
  const other = Object.keys(rest)[0];
  if (other !== undefined)
    throw new ConfigurationError(
      `Agent ${agent} has the timeout ${other}: give the Runner modelTimeoutMs for one answer of the model, or the run a deadline.`,
    );
  const ofTools: { readonly [name: string]: number | undefined } = tools;
  return (tool) => ofTools[`${tool}Ms`] ?? toolMs;
}

/** What a server brings is not known yet, and is held to the same. */
function changedSource(
  agent: string,
  source: ToolSource,
  change: Change,
  active: readonly string[] | undefined,
  named: readonly NamedTool[],
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
        .map(([tool, made]) => [tool, change(tool, made)] as const);
      return { tools: Object.fromEntries(tools), close: () => opened.close() };
    },
  });
}

type NamedTool = { readonly setting: string; readonly tool: string };

/** The tools that settings name: one that is misspelled would lose its approval, and nobody would notice. */
function namedTools({ toolApproval, activeTools, toolOrder, timeout }: ToolSettings): readonly NamedTool[] {
  const timed = typeof timeout === "object" ? Object.keys(timeout.tools ?? {}) : [];
  const names = {
    toolApproval: typeof toolApproval === "object" ? Object.keys(toolApproval) : [],
    activeTools: activeTools ?? [],
    toolOrder: toolOrder ?? [],
    "timeout.tools": timed.map((name) => name.replace(/Ms$/, "")),
  };
  return Object.entries(names).flatMap(([setting, tools]) => tools.map((tool) => ({ setting, tool })));
}

/** What a source has is looked for when it is open. */
function assertKnown(
  agent: string,
  named: readonly NamedTool[],
  tools: NonNullable<ToolSettings["tools"]>,
): void {
  if (Object.values(tools).some(isToolSource)) return;
  const own = Object.keys(tools);
  const unknown = named.find(({ tool }) => !own.includes(tool));
  if (unknown !== undefined) throw noSuchTool(agent, unknown, own);
}

function noSuchTool(
  agent: string,
  { setting, tool }: NamedTool,
  names: readonly string[],
): ConfigurationError {
  const near = nearestName(tool, names);
  const meant = near === null ? `it has ${names.join(", ") || "none"}.` : `did you mean ${near}?`;
  return new ConfigurationError(
    `${setting} of agent ${agent} names the tool ${JSON.stringify(tool)}, which it does not have: ${meant}`,
  );
}

const UNASKED: readonly unknown[] = [undefined, "approved", "not-applicable"];

/** By the time that anybody could be asked, the provider has run it. */
function assertNotAsked(name: string, toolApproval: ToolApproval | undefined): void {
  if (toolApproval === undefined) return;
  if (typeof toolApproval === "function")
    throw new ConfigurationError(
      `Tool ${name} is run by the provider, within its answer, so no toolApproval function can be asked before: give toolApproval by tool, { … }, or leave the tool out.`,
    );
  const status = ownProperty(toolApproval, name);
  if (UNASKED.includes(isJsonObject(status) ? status.type : status)) return;
  throw new ConfigurationError(
    `Tool ${name} is run by the provider, within its answer, so nobody can be asked before: leave it out of toolApproval, or out of the tools.`,
  );
}
