import type { Classification, ToolPolicy } from "../core/tool-classification.ts";
import type { Agent } from "../engine/agent.ts";
import { rootOf } from "../engine/pipeline-root.ts";
import { classify } from "../engine/prepared-tool.ts";
import { isAgentStep, type StepNode } from "../engine/step.ts";
import type { Tool } from "../engine/tool.ts";

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
  return stepsOf(rootOf(target)).flatMap((step) =>
    isAgentStep(step)
      ? Object.entries(step.agent.tools).map(([key, tool]) => {
          const name = tool.name ?? key;
          return { name, tool, classification: classify(name, tool, policy), step: step.name };
        })
      : [],
  );
}

function stepsOf(step: StepNode): readonly StepNode[] {
  return [step, ...(step.children ?? []).flatMap(stepsOf)];
}

/** What to write into a tool so that a crash in the middle of it needs nobody; null where none does. */
export function betterLine({
  tool,
  classification,
}: Pick<KnownTool, "tool" | "classification">): string | null {
  if (classification.recovery !== "opaque") return null;
  if (tool.reconcile !== null) return 'recovery: "reconcile", for it has a reconcile function';
  if (tool.requiresIdempotencyKey) return 'recovery: "keyed", for it takes the key of its call';
  const ways =
    'recovery: "keyed" (hand on call.idempotencyKey), "reconcile" (look it up) or "repeat" (twice is harmless)';
  return classification.known ? ways : `effect: "read_only" if it only reads; else ${ways}`;
}
