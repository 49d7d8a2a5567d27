import type { Classification, ToolPolicy } from "../core/tool-classification.ts";
import type { Agent } from "../engine/agent.ts";
import { rootOf } from "../engine/pipeline-root.ts";
import { classify } from "../engine/prepared-tool.ts";
import { makeRules } from "../engine/run-rules.ts";
import { RunToolSources } from "../engine/run-tool-sources.ts";
import { type GranularStep, isAgentStep, type StepNode } from "../engine/step.ts";
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
  return agentSteps(target).flatMap(({ name, agent }) => knownTools(agent.tools, name, policy));
}

/** Those of the servers that its agents use as well: each is opened, asked, and closed. Why one cannot be is told. */
export async function allToolsOf(
  target: Agent | StepNode,
  policy: ToolPolicy,
  warn: (message: string) => void,
): Promise<readonly KnownTool[]> {
  const sources = new RunToolSources({
    signal: new AbortController().signal,
    network: makeRules().network,
    warn,
  });
  try {
    const found: KnownTool[] = [...toolsOf(target, policy)];
    for (const { name, agent } of agentSteps(target))
      for (const [key, source] of Object.entries(agent.sources))
        try {
          found.push(...knownTools(await sources.toolsOf({ [key]: source }), name, policy));
        } catch (error) {
          warn(
            `The tools of ${key} are not known: ${error instanceof Error ? error.message : String(error)}`,
          );
        }
    return found;
  } finally {
    await sources.close();
  }
}

/** What its agents have tools from that are known only once a run has opened it, by name. */
export function sourceNamesOf(target: Agent | StepNode): readonly string[] {
  return [...new Set(agentSteps(target).flatMap(({ agent }) => Object.keys(agent.sources)))];
}

function agentSteps(target: Agent | StepNode): readonly GranularStep[] {
  return stepsOf(rootOf(target)).filter(isAgentStep);
}

function knownTools(tools: Agent["tools"], step: string, policy: ToolPolicy): readonly KnownTool[] {
  return Object.entries(tools).map(([key, tool]) => {
    const name = tool.name ?? key;
    return { name, tool, classification: classify(name, tool, policy), step };
  });
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
