import type { Classification, ToolPolicy } from "../../core/call/tool-classification.ts";
import type { Agent } from "./agent.ts";
import { rootOf } from "./pipeline-root.ts";
import { classify } from "./prepared-tool.ts";
import { type GranularStep, isAgentStep, type StepNode } from "./step.ts";
import type { Tool } from "./tool.ts";

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
