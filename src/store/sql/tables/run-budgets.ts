import { canonicalJson } from "../../../core/canonical-json.ts";
import type { Budgets } from "../../../core/job/budgets.ts";
import { type Allowance, deadlineAfterWaiting, withRaised } from "../../../core/usage/allowance.ts";
import { NO_BUDGETS } from "../../../core/usage/budget.ts";
import { Quota } from "../../../core/usage/quota.ts";
import { parseJson, type RunRow } from "./run-row.ts";

export function budgetsOf(row: RunRow): Budgets {
  return (parseJson(row.budgets) as Budgets | null) ?? NO_BUDGETS;
}

export function allowanceOf(row: RunRow): Allowance {
  return { budgets: budgetsOf(row), limit: row.quota.limit, deadline: row.deadline };
}

/** A run without budgets gets a budgets column only if it is given a budget. */
export function allow(row: RunRow, { budgets, limit, deadline }: Allowance): void {
  const text = canonicalJson(budgets);
  if (row.budgets !== null || text !== canonicalJson(NO_BUDGETS)) row.budgets = text;
  row.quota = new Quota(limit, row.quota.charged, row.quota.reserved);
  row.deadline = deadline;
}

export function endWaiting(row: RunRow, now: number): void {
  row.deadline = deadlineAfterWaiting(allowanceOf(row), row.waitingSince, now);
  row.waitingSince = null;
}

export function raiseBudget(row: RunRow, now: number, name: unknown, value: unknown): void {
  allow(row, withRaised(allowanceOf(row), now, name, value));
}
