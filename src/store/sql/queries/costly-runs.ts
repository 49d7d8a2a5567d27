import type { Budgets } from "../../../core/job/budgets.ts";
import { isJsonObject } from "../../../core/json.ts";
import { type BudgetShare, fullestBudget } from "../../../core/usage/budget-share.ts";
import type { CostlyQuery, RunNearBudget, RunScope, RunSummary } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import { chargedAmount, limitOf, reservedAmount } from "../tables/run-quota.ts";
import { parseJson } from "../tables/run-row.ts";
import { summariesOf } from "./listed-runs.ts";
import { MOST_SEEN } from "./run-page.ts";
import { inScope } from "./run-scope.ts";
import { allOf } from "./sql-condition.ts";

/** By money, and by tokens where no money is known. */
export function* listCostlyRuns({ since, limit, ...scope }: CostlyQuery): SqlScript<RunSummary[]> {
  const { text, values } = allOf([
    { text: "runs.created_at >= ? AND runs.charged_tokens > 0", values: [since] },
    ...inScope(scope),
  ]);
  const rows = yield* all(
    `SELECT runs.run_id FROM runs WHERE ${text}
      ORDER BY runs.charged_micro_dollars DESC, runs.charged_tokens DESC, runs.run_id LIMIT ?`,
    ...values,
    limit,
  );
  return yield* summariesOf(rows.map((row) => ({ runId: row.text("run_id") })));
}

/** From this share of a budget on, a run is near it. */
const NEAR = 0.8;

const USE = `runs.run_id, runs.limit_tokens, runs.limit_micro_dollars, runs.charged_tokens, runs.charged_micro_dollars,
  runs.reserved_tokens, runs.reserved_micro_dollars, runs.budgets, runs.calls, runs.steps, runs.forked_from`;
const IS_LIMITED = `runs.status IN ('queued', 'running', 'waiting')
   AND (runs.limit_tokens IS NOT NULL OR runs.limit_micro_dollars IS NOT NULL OR runs.budgets IS NOT NULL)`;

/** The unfinished runs that have used most of a budget, the fullest first; of the newest 10,000 that have one. */
export function* listRunsNearBudget({
  limit,
  ...scope
}: RunScope & { readonly limit: number }): SqlScript<RunNearBudget[]> {
  const { text, values } = allOf([{ text: IS_LIMITED, values: [] }, ...inScope(scope)]);
  const rows = yield* all(
    `SELECT ${USE} FROM runs WHERE ${text} ORDER BY runs.created_at DESC, runs.run_id DESC LIMIT ?`,
    ...values,
    MOST_SEEN,
  );
  const near = rows
    .flatMap((row) => nearBudget(row) ?? [])
    .sort((a, b) => b.fullest.share - a.fullest.share)
    .slice(0, limit);
  const runs = new Map((yield* summariesOf(near)).map((run) => [run.runId, run]));
  return near.flatMap(({ runId, fullest }) => {
    const run = runs.get(runId);
    return run === undefined ? [] : [{ run, fullest }];
  });
}

function nearBudget(row: Row): { readonly runId: string; readonly fullest: BudgetShare } | null {
  const origin = parseJson(row.optionalText("forked_from"));
  // A fork did not do itself what it began with.
  const given = (name: string) => (isJsonObject(origin) ? Number(origin[name] ?? 0) : 0);
  const fullest = fullestBudget({
    limit: limitOf(row),
    budgets: parseJson(row.optionalText("budgets")) as Budgets | null,
    charged: chargedAmount(row),
    reserved: reservedAmount(row),
    toolCalls: row.int("calls") - given("toolCalls"),
    steps: row.int("steps") - given("steps"),
  });
  return fullest === null || fullest.share < NEAR ? null : { runId: row.text("run_id"), fullest };
}
