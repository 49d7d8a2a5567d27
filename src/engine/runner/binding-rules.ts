import { fullName, isExactName, matchesAction, type NamedTool } from "../../core/call/action-pattern.ts";
import { isAllowed } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { nearestName } from "../../core/job/run-spec-spelling.ts";
import type { Agent } from "../definition/agent.ts";
import { CLASSES } from "../definition/approval-rule.ts";
import { rootOf } from "../definition/pipeline-root.ts";
import { isAgentStep, type StepNode } from "../definition/step.ts";
import type { Tool } from "../definition/tool.ts";
import type { ActiveRun, RunWith } from "../run/active-run.ts";
import type { RunToolSources } from "../run/run-tool-sources.ts";

/** A rule that names tools. */
type ToolRule = {
  readonly pattern: string;
  readonly where: string;
  /** False where it is for other pipelines as well. */
  readonly isForThisRun: boolean;
  readonly binds: (tool: KnownTool) => boolean;
  /** What is said of one that binds nothing, where that is no error; null where a name that no tool has is one. */
  readonly warning: string | null;
};

type KnownTool = NamedTool & Pick<Tool, "effect" | "recovery">;

type Tools = {
  readonly tools: readonly KnownTool[];
  /** Whether there can be no other. */
  readonly isComplete: boolean;
};

const NONE: Tools = { tools: [], isComplete: true };
const UNKNOWN: Tools = { tools: [], isComplete: false };

/**
 * Looks, before the first step of a run begins, whether every rule that names a tool binds one: a slip of the hand would
 * forbid nothing, and nobody would notice. A name that no tool has is an error, and a pattern that fits none a warning, for it
 * binds what comes later. What the code of a step calls, and a server that cannot be opened yet, are not known: then a name is
 * a warning too, and so it is in the lists of the classification, which are for all tools there may ever be.
 */
export async function assertRulesBind(
  run: ActiveRun,
  root: StepNode,
  others: readonly (Agent | StepNode)[],
): Promise<void> {
  const own = await toolsIn(root, null);
  const loose = rulesOf(run).filter((rule) => !binds(rule, own));
  if (loose.length === 0) return;
  const opened = await toolsIn(root, run.sources);
  const elsewhere = joined(await Promise.all(others.map((each) => toolsIn(rootOf(each), null))));
  const problems: string[] = [];
  for (const rule of loose.filter((each) => !binds(each, opened))) {
    const known = rule.isForThisRun ? opened : joined([opened, elsewhere]);
    if (binds(rule, known)) continue;
    const what = `${rule.where} has ${JSON.stringify(rule.pattern)}`;
    if (rule.warning !== null) warn(run, `${what}, ${rule.warning}`);
    else if (isExactName(rule.pattern) && known.isComplete)
      problems.push(`${what}, ${noSuchTool(rule, known)}`);
    else warn(run, `${what}, and ${LATER}`);
  }
  if (problems.length === 0) return;
  throw new ConfigurationError(
    `No step of run ${run.runId} was begun: ${problems.join(" ")} Correct that, and start a new run.`,
  );
}

const LATER = "no tool that is known by now fits it: it binds those that come later.";

function rulesOf({
  policy: { rules },
  contract: { spec },
}: RunWith<"policy" | "contract">): readonly ToolRule[] {
  const forRun = spec?.constraints.forbiddenActions ?? [];
  const approve = rules.approve.map(({ match }) => match).filter((match) => !CLASSES.includes(match));
  const binding = (pattern: string, where: string, more: Partial<ToolRule> = {}): ToolRule => ({
    pattern,
    where,
    isForThisRun: false,
    binds: (tool) => matchesAction([pattern], tool) !== null,
    warning: null,
    ...more,
  });
  const { sideEffectDenylist = [], readOnlyAllowlist = [] } = rules.tools;
  return [
    ...rules.forbiddenActions.map((pattern) =>
      binding(pattern, "constraints.forbiddenActions", { isForThisRun: forRun.includes(pattern) }),
    ),
    ...approve.map((pattern) => binding(pattern, "policy.approve")),
    ...sideEffectDenylist.map((pattern) =>
      binding(pattern, "policy.sideEffectDenylist", { warning: `and ${LATER}` }),
    ),
    ...readOnlyAllowlist.map((pattern) =>
      binding(pattern, "policy.readOnlyAllowlist", {
        binds: ({ effect, recovery, ...tool }) =>
          isAllowed({ ...tool, declaredEffect: effect, declaredRecovery: recovery }, pattern, rules.tools),
        warning: "and it allows no tool that is known by now: for one of an MCP server, write server/tool.",
      }),
    ),
  ];
}

function binds(rule: ToolRule, { tools }: Tools): boolean {
  return tools.some((tool) => rule.binds(tool));
}

function noSuchTool({ pattern }: ToolRule, { tools }: Tools): string {
  const names = [...new Set(tools.flatMap((tool) => [fullName(tool), tool.ownName ?? tool.name]))];
  const near = nearestName(pattern, names);
  if (near !== null) return `which no tool is called: did you mean ${near}?`;
  return `which no tool is called: there ${names.length === 0 ? "is none" : `are ${[...new Set(tools.map(fullName))].join(", ")}`}.`;
}

function warn({ runId, observe: { emit } }: RunWith<"runId" | "observe">, message: string): void {
  emit({ type: "warning", runId, message });
}

/** All tools in a step; those of servers only where `sources` may open them. */
async function toolsIn(step: StepNode, sources: RunToolSources | null): Promise<Tools> {
  // What may be skipped need not be opened.
  const inside = step.kind === "when" ? null : sources;
  return joined([
    await ownTools(step, sources),
    ...(await Promise.all((step.children ?? []).map((child) => toolsIn(child, inside)))),
  ]);
}

const WITHOUT_TOOLS: readonly string[] = ["pipeline", "loop", "turn-loop", "when"];

async function ownTools(step: StepNode, sources: RunToolSources | null): Promise<Tools> {
  if (isAgentStep(step)) {
    const { tools, sources: given } = step.agent;
    return joined([named(tools), Object.keys(given).length === 0 ? NONE : await opened(given, sources)]);
  }
  if (WITHOUT_TOOLS.includes(step.kind)) return NONE;
  if (step.tools === undefined) return UNKNOWN;
  try {
    return named(await step.tools(sources ?? CLOSED));
  } catch {
    return UNKNOWN; // It says so itself when its step begins.
  }
}

async function opened(given: Agent["sources"], sources: RunToolSources | null): Promise<Tools> {
  try {
    return named(await (sources ?? CLOSED).toolsOf(given));
  } catch {
    return UNKNOWN;
  }
}

const CLOSED: Pick<RunToolSources, "toolsOf"> = {
  toolsOf: () => Promise.reject(new Error("No server is opened here.")),
};

function named(tools: Agent["tools"]): Tools {
  return {
    tools: Object.entries(tools).map(([key, tool]) => ({ ...tool, name: tool.name ?? key })),
    isComplete: true,
  };
}

function joined(all: readonly Tools[]): Tools {
  return {
    tools: all.flatMap(({ tools }) => tools),
    isComplete: all.every(({ isComplete }) => isComplete),
  };
}
