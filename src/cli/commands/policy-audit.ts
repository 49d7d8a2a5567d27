import { matchesAction } from "../../core/call/action-pattern.ts";
import type { ToolPolicy } from "../../core/call/tool-classification.ts";
import { type ApprovalNeed, ONE_PERSON } from "../../core/person.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import { approvalNeed, approvalRules } from "../../engine/definition/approval-rule.ts";
import type { PawlConfig } from "../../engine/definition/config.ts";
import type { Policy } from "../../engine/definition/run-rules.ts";
import { combineConstraints } from "../../engine/definition/run-spec-checks.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import { loadConfig } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command } from "../context/command.ts";
import { cleanLine, paragraph } from "../context/terminal-text.ts";
import { TRUST_OPTION } from "../job/job-trust.ts";
import { findTarget } from "../job/run-target.ts";
import { allToolsOf, type KnownTool, suggestedRecovery } from "../job/tool-advice.ts";
import { counted } from "../screen/format.ts";
import { formatFacts, formatTable } from "../screen/table.ts";

export type PipelineTool = KnownTool & { readonly pipeline: string };

/** Every tool of every configured pipeline, including those of MCP servers. */
export function configuredTools(
  context: CliContext,
  { pipelines = {}, policy = {} }: PawlConfig,
): Promise<readonly PipelineTool[]> {
  return toolsOfAll(context, Object.entries(pipelines), policy);
}

async function toolsOfAll(
  { stderr }: CliContext,
  pipelines: readonly (readonly [name: string, target: Agent | StepNode])[],
  policy: ToolPolicy,
): Promise<readonly PipelineTool[]> {
  const warn = (message: string) => stderr.write(`${cleanLine(message)}\n`);
  const found: PipelineTool[] = [];
  for (const [pipeline, target] of pipelines)
    for (const tool of await allToolsOf(target, policy, warn)) found.push({ ...tool, pipeline });
  return found;
}

/** The rules that apply to a tool, whatever its classification. */
type ToolRules = {
  /** The forbidden actions that match it. */
  readonly forbiddenBy: readonly string[];
  readonly approval: ApprovalNeed | null;
};

function rulesFor(tool: PipelineTool, forbidden: readonly string[], policy: Policy): ToolRules {
  const named = { ...tool.tool, name: tool.name, effect: tool.classification.effect };
  const own = tool.tool.approval === true ? ONE_PERSON : null;
  return {
    forbiddenBy: forbidden.filter((pattern) => matchesAction([pattern], named) !== null),
    approval: approvalNeed(approvalRules(policy.approve ?? []), named) ?? own,
  };
}

type AuditedTool = PipelineTool & ToolRules;

export const policyAudit: Command = {
  name: "policy audit",
  summary: "List the tools of all configured pipelines, or of one, with their classification",
  arguments: [{ name: "pipeline", summary: "a pipeline of pawl.config.ts, or a job file", isOptional: true }],
  options: [TRUST_OPTION],
  example: "pawl policy audit",
  execute: async (context, input) => {
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    const { config, path } = loaded;
    const one = input.optionalArgument("pipeline");
    const { policy = {}, constraints = {} } = config;
    const target = one === null ? null : await findTarget(context, input, loaded);
    const found =
      one === null || target === null
        ? await configuredTools(context, config)
        : await toolsOfAll(context, [[one, target.pipeline]], policy);
    const forbidden = combineConstraints(constraints, target?.spec ?? null).forbiddenActions ?? [];
    const tools = found.map((tool) => ({ ...tool, ...rulesFor(tool, forbidden, policy) }));
    const unmatched = forbidden.filter(
      (each) => !tools.some(({ forbiddenBy }) => forbiddenBy.includes(each)),
    );
    return {
      exitCode: 0,
      document: {
        config: path,
        tools: tools.map((each) => ({
          pipeline: each.pipeline,
          step: each.step,
          tool: each.name,
          ...each.classification,
          forbiddenBy: each.forbiddenBy,
          approval: each.approval,
          advice: suggestedRecovery(each),
        })),
        unmatched,
      },
      text:
        tools.length === 0
          ? paragraph(nothing(one ?? path), context.stdout.columns)
          : auditText(context, tools, unmatched),
    };
  },
};

function auditText(context: CliContext, tools: readonly AuditedTool[], unmatched: readonly string[]): string {
  const table = formatTable(
    context,
    [
      { title: "tool", value: ({ name }) => name, rank: 0, atLeast: 12 },
      { title: "effect", value: ({ classification }) => classification.effect, rank: 0 },
      {
        title: "recovery",
        value: ({ classification }) => classification.recovery,
        rank: 0,
        paint: (paints, text, { classification }) =>
          classification.recovery === "opaque" ? paints.yellow(text) : text,
      },
      { title: "forbidden by", value: ({ forbiddenBy }) => forbiddenBy.join(", "), rank: 1, atLeast: 12 },
      { title: "approval", value: ({ approval }) => approvalText(approval), rank: 1, atLeast: 8 },
      { title: "pipeline", value: ({ pipeline }) => pipeline, rank: 2, atLeast: 8 },
      { title: "why", value: ({ classification }) => classification.reason, rank: 1, atLeast: 16 },
    ],
    tools,
  );
  return `${table}${adviceText(context, tools)}${unmatchedText(context, unmatched)}${paragraph(
    "Tools called from the code of a step are not listed: they are known only when they are called.",
    context.stdout.columns,
  )}`;
}

function approvalText(need: ApprovalNeed | null): string {
  if (need === null) return "";
  return `${counted(need.people, "person", "people")}${need.notStarter ? ", not the starter" : ""}`;
}

function unmatchedText(context: CliContext, unmatched: readonly string[]): string {
  if (unmatched.length === 0) return "";
  const which = unmatched.map((pattern) => JSON.stringify(pattern)).join(", ");
  return `${paragraph(`None of these tools is forbidden by ${which}.`, context.stdout.columns)}\n`;
}

/** Each piece of advice once, with the tools it applies to. */
function adviceText(context: CliContext, tools: readonly PipelineTool[]): string {
  const byAdvice = Map.groupBy(tools, suggestedRecovery);
  const lines = [...byAdvice].flatMap(([advice, group]) => {
    if (advice === null) return [];
    const names = [...new Set(group.map(({ name }) => cleanLine(name)))];
    return [
      `\n${paragraph(
        `A crash during a call of ${counted(names.length, "tool")} would need a person to decide. Declare in the definition what to do instead:`,
        context.stdout.columns,
      )}${formatFacts(context, [
        ["tools", names.join(", ")],
        ["add", advice],
      ])}`,
    ];
  });
  return lines.length === 0 ? "" : `${lines.join("")}\n`;
}

function nothing(path: string | null): string {
  return path === null
    ? "There is no pawl.config.ts here or above: name one with --config, or give a job file."
    : `No agent of a pipeline in ${cleanLine(path)} has a tool.`;
}
