import { limitOfBudgets, NO_BUDGETS, wallclockOf, withBudget } from "../../core/budget.ts";
import { canonicalJson } from "../../core/canonical-json.ts";
import { Quota } from "../../core/quota.ts";
import type { Budgets } from "../../core/run-spec.ts";
import { parseJson, type RunRow } from "./run-row.ts";

export function budgetsOf(row: RunRow): Budgets {
  return (parseJson(row.budgets) as Budgets | null) ?? NO_BUDGETS;
}

/** The time that a run waited for a person is given back to it, unless its budgets say that it counts. */
export function endWaiting(row: RunRow, now: number): void {
  const since = row.waitingSince;
  row.waitingSince = null;
  if (since === null || row.deadline === null || budgetsOf(row).countWaitingTime) return;
  row.deadline += Math.max(0, now - since);
}

/** The earlier of two times; null is never. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

/** A deadline that a caller sets moves the run's, but not past the time that its budgets give it. */
export function deadlineWithin(row: RunRow, wanted: number | null): number | null {
  return wallclockOf(budgetsOf(row)) === null ? wanted : earlier(row.deadline, wanted);
}

/** Lets the run use more, or less; what it has used stays used. */
export function raiseBudget(row: RunRow, now: number, name: unknown, value: unknown): void {
  const before = budgetsOf(row);
  const after = withBudget(before, name, value);
  row.budgets = canonicalJson(after);
  const { limit, charged, reserved } = row.quota;
  const { tokens, microDollars } = limitOfBudgets(after);
  if (name === "maxTokens") row.quota = new Quota({ ...limit, tokens }, charged, reserved);
  if (name === "maxCostUsd") row.quota = new Quota({ ...limit, microDollars }, charged, reserved);
  if (name !== "maxWallclockMinutes") return;
  const [was, is] = [wallclockOf(before), wallclockOf(after)];
  // It has the time that it lived so far behind it.
  if (is !== null) row.deadline = row.deadline === null || was === null ? now + is : row.deadline + is - was;
}
