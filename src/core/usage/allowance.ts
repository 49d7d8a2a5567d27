import type { Budgets } from "../job/budgets.ts";
import { limitOfBudgets, wallclockOf, withBudget } from "./budget.ts";
import { type Limit, stricter } from "./quota.ts";

/** The limits of a run on model usage and time, and the budgets behind them. `deadline` is a wall time; null is never. */
export type Allowance = {
  readonly budgets: Budgets;
  readonly limit: Limit;
  readonly deadline: number | null;
};

/** Changes to the allowance that come with a claim of the run. */
export type AllowanceChange = {
  readonly budgets?: { readonly [name: string]: unknown };
  readonly limit?: Limit | undefined;
  readonly deadline?: number | null | undefined;
};

/** The allowance after a claim: the changes apply in this order, and `limit` and `deadline` never exceed the budgets. */
export function allowanceAfter(
  allowance: Allowance,
  now: number,
  { budgets = {}, limit, deadline }: AllowanceChange,
): Allowance {
  let after = allowance;
  for (const [name, value] of Object.entries(budgets)) after = withRaised(after, now, name, value);
  if (limit !== undefined) after = { ...after, limit: stricter(limit, limitOfBudgets(after.budgets)) };
  if (deadline === undefined) return after;
  const isBounded = wallclockOf(after.budgets) !== null;
  return { ...after, deadline: isBounded ? earlier(after.deadline, deadline) : deadline };
}

/** The allowance with one budget raised or lowered; what the run has used already still counts. */
export function withRaised(allowance: Allowance, now: number, name: unknown, value: unknown): Allowance {
  const { limit, deadline } = allowance;
  const budgets = withBudget(allowance.budgets, name, value);
  const { tokens, microDollars } = limitOfBudgets(budgets);
  switch (name) {
    case "maxTokens":
      return { budgets, deadline, limit: { ...limit, tokens } };
    case "maxCostUsd":
      return { budgets, deadline, limit: { ...limit, microDollars } };
    case "maxWallclockMinutes": {
      const [was, is] = [wallclockOf(allowance.budgets), wallclockOf(budgets)];
      if (is === null) return { budgets, limit, deadline };
      // The time since the start of the run counts, so the deadline only moves by the difference.
      return { budgets, limit, deadline: deadline === null || was === null ? now + is : deadline + is - was };
    }
    default:
      return { budgets, limit, deadline };
  }
}

/** Moves the deadline by the time that the run waited for a person, unless `countWaitingTime` is set. */
export function deadlineAfterWaiting(
  { budgets, deadline }: Pick<Allowance, "budgets" | "deadline">,
  since: number | null,
  now: number,
): number | null {
  if (since === null || deadline === null || budgets.countWaitingTime) return deadline;
  return deadline + Math.max(0, now - since);
}

/** The earlier of two times; null is never. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
