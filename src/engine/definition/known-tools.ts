import type { NamedTool } from "../../core/call/action-pattern.ts";
import type { Classification, ToolPolicy } from "../../core/call/tool-classification.ts";
import type { Agent } from "./agent.ts";
import { rootOf } from "./pipeline-root.ts";
import { classify } from "./prepared-tool.ts";
import { type GranularStep, isAgentStep, type StepNode } from "./step.ts";
import type { Tool } from "./tool.ts";
import type { OpenSources } from "./tool-source.ts";

/** A tool of a pipeline's agent, with its classification. */
export type KnownTool = {
  readonly name: string;
  readonly tool: Tool;
  readonly classification: Classification;
  /** The step whose agent has it. */
  readonly step: string;
};

/** The tools of a pipeline's agents. Tools that code steps call are not known before the call. */
export function toolsOf(target: Agent | StepNode, policy: ToolPolicy): readonly KnownTool[] {
  return agentSteps(target).flatMap(({ name, agent }) => knownTools(agent.tools, name, policy));
}

/** The names of the tool sources of a pipeline's agents. Their tools are known only once a run has opened them. */
export function sourceNamesOf(target: Agent | StepNode): readonly string[] {
  return [...new Set(agentSteps(target).flatMap(({ agent }) => Object.keys(agent.sources)))];
}

export function agentSteps(target: Agent | StepNode): readonly GranularStep[] {
  return stepsOf(target).filter(isAgentStep);
}

export function knownTools(tools: Agent["tools"], step: string, policy: ToolPolicy): readonly KnownTool[] {
  return Object.entries(tools).map(([key, tool]) => {
    const name = tool.name ?? key;
    return { name, tool, classification: classify(name, tool, policy), step };
  });
}

/** Every step of a pipeline, each before its children. */
export function stepsOf(target: Agent | StepNode): readonly StepNode[] {
  return withChildren(rootOf(target));
}

function withChildren(step: StepNode): readonly StepNode[] {
  return [step, ...(step.children ?? []).flatMap(withChildren)];
}

/** A tool that a rule, or a stand-in, can name. */
export type BindableTool = NamedTool & Pick<Tool, "effect" | "recovery" | "isSessionTool">;

/** The tools that are known before a run begins. */
export type BindableTools = {
  readonly tools: readonly BindableTool[];
  /** False if there may be more tools than these. */
  readonly isComplete: boolean;
};

const NONE: BindableTools = { tools: [], isComplete: true };
const UNKNOWN: BindableTools = { tools: [], isComplete: false };

/** All tools of a step and its children. Without `sources`, no server is opened and its tools are unknown. */
export async function toolsIn(step: StepNode, sources: OpenSources | null): Promise<BindableTools> {
  // A step that may be skipped does not open its servers here.
  const inside = step.kind === "when" ? null : sources;
  return joinedTools([
    await ownTools(step, sources),
    ...(await Promise.all((step.children ?? []).map((child) => toolsIn(child, inside)))),
  ]);
}

const WITHOUT_TOOLS: readonly string[] = ["pipeline", "loop", "turn-loop", "conversation", "when"];

async function ownTools(step: StepNode, sources: OpenSources | null): Promise<BindableTools> {
  if (isAgentStep(step)) {
    const { tools, sources: given } = step.agent;
    return joinedTools([named(tools), Object.keys(given).length === 0 ? NONE : await opened(given, sources)]);
  }
  if (WITHOUT_TOOLS.includes(step.kind)) return NONE;
  if (step.tools === undefined) return UNKNOWN;
  try {
    return named(await step.tools(sources ?? CLOSED));
  } catch {
    return UNKNOWN; // The step reports the error itself when it begins.
  }
}

async function opened(given: Agent["sources"], sources: OpenSources | null): Promise<BindableTools> {
  try {
    return named(await (sources ?? CLOSED).toolsOf(given));
  } catch {
    return UNKNOWN;
  }
}

const CLOSED: OpenSources = {
  toolsOf: () => Promise.reject(new Error("No server is opened here.")),
};

function named(tools: Agent["tools"]): BindableTools {
  return {
    tools: Object.entries(tools).map(([key, tool]) => ({ ...tool, name: tool.name ?? key })),
    isComplete: true,
  };
}

export function joinedTools(all: readonly BindableTools[]): BindableTools {
  return {
    tools: all.flatMap(({ tools }) => tools),
    isComplete: all.every(({ isComplete }) => isComplete),
  };
}

/** The declaration to add to a tool so that a crash during a call needs no person; null if none is needed. */
export function suggestedRecovery({
  tool,
  classification,
}: Pick<KnownTool, "tool" | "classification">): string | null {
  if (classification.recovery !== "opaque") return null;
  if (tool.reconcile !== null) return 'recovery: "reconcile", because it has a reconcile function';
  if (tool.requiresIdempotencyKey)
    return 'recovery: "keyed", because it takes the idempotency key of its call';
  return classification.known
    ? RECOVERY_OPTIONS
    : `effect: "read_only" if it only reads; else ${RECOVERY_OPTIONS}`;
}

/** The recovery classes to choose from, for a tool of which nothing else is known. */
export const RECOVERY_OPTIONS =
  'recovery: "keyed" (pass on call.idempotencyKey), "reconcile" (look it up) or "repeat" (twice is harmless)';
