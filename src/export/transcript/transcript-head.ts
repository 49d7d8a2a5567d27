import type { RunSpec } from "../../core/job/run-spec.ts";
import type { BaselineUsage } from "../../store/store.ts";
import { amountText, counted, dollars, duration, isoTime, usageText, wholeNumber } from "../figures.ts";
import { code, fence, jsonFence, table } from "../markdown.ts";
import type { RunOutline } from "../run-outline.ts";
import { type RunTally, type StatusCounts, totalOf } from "../run-tally.ts";

type TableRow = readonly [name: string, value: string];

/** The summary at the top: the objective, the outcome, and the cost. */
export function transcriptHead(outline: RunOutline, tally: RunTally): readonly string[] {
  const { run, input } = outline;
  return [
    `# Run ${code(run.runId)}`,
    ...(run.spec === null ? [] : [fence(run.spec.objective)]),
    table([...runRows(outline), ...workRows(outline, tally)]),
    ...(run.spec === null ? [] : rulesText(run.spec)),
    "The input:",
    jsonFence(input, "all of it is in the store"),
  ];
}

function runRows({ run, usage }: RunOutline): readonly TableRow[] {
  const { forkedFrom, deadline, limit } = run;
  const budget = [
    limit.tokens === null ? null : counted(limit.tokens, "token"),
    limit.microDollars === null ? null : dollars(limit.microDollars),
  ].filter((part) => part !== null);
  return [
    ["pipeline", code(run.pipeline)],
    ["status", `**${run.status}**${run.error === null ? "" : `, ${code(run.error.code)}`}`],
    ["started", isoTime(run.createdAt)],
    ["last change", `${isoTime(run.updatedAt)}, after ${duration(run.updatedAt - run.createdAt)}`],
    ...(deadline === null ? [] : [["deadline", isoTime(deadline)] as const]),
    ...(forkedFrom === null
      ? []
      : [
          [
            "forked from",
            `turn ${forkedFrom.turnIndex} of ${code(forkedFrom.stepPath)} in run ${code(forkedFrom.runId)}`,
          ] as const,
        ]),
    ["model calls", `${wholeNumber(usage.modelCalls)}: ${usageText(usage)}`],
    ["charged", `${amountText(usage.charged)}${budget.length === 0 ? "" : `, of ${budget.join(" and ")}`}`],
    ...(usage.baseline.modelCalls === 0 ? [] : [baselineRow(usage.baseline)]),
  ];
}

function baselineRow({ charged, modelCalls }: BaselineUsage): TableRow {
  const calls = counted(modelCalls, "model call");
  return [
    "of that reserved",
    `${amountText(charged)}: the provider gave no figures for ${calls}, and may have billed less`,
  ];
}

function workRows({ chapters, artifacts }: RunOutline, tally: RunTally): readonly TableRow[] {
  const died = chapters.filter(({ end }) => end === "died").length;
  const open = tally.waits.get("open") ?? 0;
  return [
    [
      "attempts",
      `${wholeNumber(chapters.length)}${died === 0 ? "" : `, of which ${counted(died, "worker")} died`}`,
    ],
    ["steps", countsText(tally.steps)],
    ["turns", `${wholeNumber(tally.turns)}, of which ${wholeNumber(tally.committedTurns)} committed`],
    ["tool calls", countsText(tally.calls)],
    [
      "questions to people",
      `${wholeNumber(totalOf(tally.waits))}${open === 0 ? "" : `, of which ${wholeNumber(open)} open`}`,
    ],
    ["checkpoints", wholeNumber(tally.checkpoints)],
    ["artifacts", wholeNumber(artifacts.length)],
  ];
}

/** `12: 10 succeeded, 2 deduplicated`. */
function countsText(counts: StatusCounts): string {
  const parts = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([status, count]) => `${wholeNumber(count)} ${status}`);
  return parts.length === 0 ? "0" : `${wholeNumber(totalOf(counts))}: ${parts.join(", ")}`;
}

/** The rules of the contract, without those that are not set. */
function rulesText({ constraints, budgets, stopConditions, artifacts }: RunSpec): readonly string[] {
  const { expectedOutputs, finalOutput } = artifacts;
  const rules = {
    ...withoutUnset(constraints),
    ...withoutUnset(budgets),
    ...withoutUnset({ stopConditions, expectedOutputs, finalOutput }),
  };
  if (Object.keys(rules).length === 0) return [];
  return ["Its rules:", jsonFence(rules, "all of it is in the store")];
}

type ConstraintValue = null | boolean | number | string | readonly string[];

function withoutUnset(rules: { readonly [name: string]: ConstraintValue }): {
  readonly [name: string]: ConstraintValue;
} {
  const isSet = (rule: ConstraintValue) =>
    Array.isArray(rule) ? rule.length > 0 : rule !== null && rule !== false;
  return Object.fromEntries(Object.entries(rules).filter(([, rule]) => isSet(rule)));
}
