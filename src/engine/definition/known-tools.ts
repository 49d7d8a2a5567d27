import type { Classification, ToolPolicy } from "../../core/call/tool-classification.ts";
import type { Agent } from "./agent.ts";
import { rootOf } from "./pipeline-root.ts";
import { classify } from "./prepared-tool.ts";
import { type GranularStep, isAgentStep, type StepNode } from "./step.ts";
import type { Tool } from "./tool.ts";

/** A tool that an agent of a pipeline has, and what is assumed of it. */
export type KnownTool = {
  readonly name: string;
  readonly tool: Tool;
  readonly classification: Classification;
  /** The step whose agent has it. */
  readonly step: string;
};

/** The tools of a pipeline's agents. What the code of a step calls is known when it calls it. */
export function toolsOf(target: Agent | StepNode, policy: ToolPolicy): readonly KnownTool[] {
  return agentSteps(target).flatMap(({ name, agent }) => knownTools(agent.tools, name, policy));
}

/** What its agents have tools from that are known only once a run has opened it, by name. */
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

/** Every step of a pipeline, each before those inside of it. */
export function stepsOf(target: Agent | StepNode): readonly StepNode[] {
  return withChildren(rootOf(target));
}

function withChildren(step: StepNode): readonly StepNode[] {
  return [step, ...(step.children ?? []).flatMap(withChildren)];
}

/** What to write into a tool so that a crash in the middle of it needs nobody; null where none does. */
export function suggestedRecovery({
  tool,
  classification,
}: Pick<KnownTool, "tool" | "classification">): string | null {
  if (classification.recovery !== "opaque") return null;
  if (tool.reconcile !== null) return 'recovery: "reconcile", for it has a reconcile function';
  if (tool.requiresIdempotencyKey) return 'recovery: "keyed", for it takes the key of its call';
  return classification.known
    ? RECOVERY_OPTIONS
    : `effect: "read_only" if it only reads; else ${RECOVERY_OPTIONS}`;
}

/** What a tool can say of itself, of which nothing is known but that a crash in it would need a person. */
export const RECOVERY_OPTIONS =
  'recovery: "keyed" (hand on call.idempotencyKey), "reconcile" (look it up) or "repeat" (twice is harmless)';
