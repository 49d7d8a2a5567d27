import type { BudgetName, Budgets } from "../job/budgets.ts";
import type { Limit } from "./quota.ts";
import type { Amount } from "./usage.ts";

/** How much of a budget is used, in the unit of the budget. */
export type BudgetShare = {
  readonly budget: BudgetName;
  readonly used: number;
  readonly limit: number;
  /** Of 1; may exceed it. */
  readonly share: number;
};

/** What a run may use and has used. What is reserved for open calls counts as used. */
export type BudgetUse = {
  readonly limit: Limit;
  readonly budgets: Budgets | null;
  readonly charged: Amount;
  readonly reserved: Amount;
  readonly toolCalls: number;
  readonly steps: number;
};

/** The budgets of a run that are used up step by step. */
export function budgetShares(run: BudgetUse): readonly BudgetShare[] {
  const { limit, budgets, charged, reserved } = run;
  const dollars = (microDollars: number) => microDollars / 1_000_000;
  return [
    shareOf("maxTokens", charged.tokens + reserved.tokens, limit.tokens),
    shareOf(
      "maxCostUsd",
      dollars(charged.microDollars + reserved.microDollars),
      limit.microDollars === null ? null : dollars(limit.microDollars),
    ),
    shareOf("maxToolCalls", run.toolCalls, budgets?.maxToolCalls ?? null),
    shareOf("maxSteps", run.steps, budgets?.maxSteps ?? null),
  ].filter((share) => share !== null);
}

/** The budget that a run has used most of; null if it has none that is used up step by step. */
export function fullestBudget(run: BudgetUse): BudgetShare | null {
  return budgetShares(run).reduce<BudgetShare | null>(
    (fullest, share) => (fullest === null || share.share > fullest.share ? share : fullest),
    null,
  );
}

/** A budget of nothing is used up from the start. */
function shareOf(budget: BudgetName, used: number, limit: number | null): BudgetShare | null {
  if (limit === null) return null;
  return { budget, used, limit, share: limit === 0 ? 1 : used / limit };
}
