import { fullName, isExactName, matchesAction } from "../../core/call/action-pattern.ts";
import { isAllowed } from "../../core/call/tool-classification.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import type { Agent } from "../definition/agent.ts";
import { CLASSES } from "../definition/approval-rule.ts";
import { type BindableTool, type BindableTools, joinedTools, toolsIn } from "../definition/known-tools.ts";
import { rootOf } from "../definition/pipeline-root.ts";
import type { StepNode } from "../definition/step.ts";
import type { RunWith } from "../run/active-run.ts";

/** A rule that names tools. */
type ToolRule = {
  readonly pattern: string;
  readonly where: string;
  /** False if the rule applies to other pipelines too. */
  readonly isForThisRun: boolean;
  readonly binds: (tool: BindableTool) => boolean;
  /** The warning for a rule that binds nothing; null if an unknown name is an error. */
  readonly warning: string | null;
};

/**
 * Checks, before the first step of a run begins, that every rule that names a tool binds one: a misspelled rule would
 * forbid nothing, unnoticed. An unknown name is an error. A pattern that matches no tool is a warning, since it may bind a
 * later one. Tools that code steps call, and those of a server that cannot be opened yet, are not known: then an unknown
 * name is a warning too. So it is in the classification lists, which apply to all tools there may ever be.
 */
export async function assertRulesBind(
  run: RunWith<"runId" | "policy" | "contract" | "sources" | "observe">,
  root: StepNode,
  others: readonly (Agent | StepNode)[],
): Promise<void> {
  const own = await toolsIn(root, null);
  const unbound = rulesOf(run).filter((rule) => !binds(rule, own));
  if (unbound.length === 0) return;
  const opened = await toolsIn(root, run.sources);
  const elsewhere = joinedTools(await Promise.all(others.map((each) => toolsIn(rootOf(each), null))));
  const problems: string[] = [];
  for (const rule of unbound.filter((each) => !binds(each, opened))) {
    const known = rule.isForThisRun ? opened : joinedTools([opened, elsewhere]);
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

const LATER = "no known tool matches it: it applies to tools that become known later.";

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
        warning: "and it allows no known tool: for a tool of an MCP server, write server/tool.",
      }),
    ),
  ];
}

function binds(rule: ToolRule, { tools }: BindableTools): boolean {
  return tools.some((tool) => rule.binds(tool));
}

function noSuchTool({ pattern }: ToolRule, { tools }: BindableTools): string {
  const names = [...new Set(tools.flatMap((tool) => [fullName(tool), tool.ownName ?? tool.name]))];
  const near = nearestName(pattern, names);
  if (near !== null) return `and there is no such tool: did you mean ${near}?`;
  if (names.length === 0) return "and there is no such tool: no tools are known.";
  return `and there is no such tool: the known tools are ${[...new Set(tools.map(fullName))].join(", ")}.`;
}

function warn({ runId, observe: { emit } }: RunWith<"runId" | "observe">, message: string): void {
  emit({ type: "warning", runId, message });
}
