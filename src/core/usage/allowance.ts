import type { Budgets } from "../job/run-spec.ts";
import { limitOfBudgets, wallclockOf, withBudget } from "./budget.ts";
import { type Limit, stricter } from "./quota.ts";

/** What a run may use of models and of time, and the budgets that say so. `deadline` is a wall time; null is never. */
export type Allowance = {
  readonly budgets: Budgets;
  readonly limit: Limit;
  readonly deadline: number | null;
};

/** What whoever takes a run wants of it. */
export type AllowanceWish = {
  readonly budgets?: { readonly [name: string]: unknown };
  readonly limit?: Limit | undefined;
  readonly deadline?: number | null | undefined;
};

/** What the run may use from then on: the wishes in this order, and the last two never beyond its budgets. */
export function allowanceAfter(
  allowance: Allowance,
  now: number,
  { budgets = {}, limit, deadline }: AllowanceWish,
): Allowance {
  let after = allowance;
  for (const [name, value] of Object.entries(budgets)) after = withRaised(after, now, name, value);
  if (limit !== undefined) after = { ...after, limit: stricter(limit, limitOfBudgets(after.budgets)) };
  if (deadline === undefined) return after;
  const isBounded = wallclockOf(after.budgets) !== null;
  return { ...after, deadline: isBounded ? earlier(after.deadline, deadline) : deadline };
}

/** Lets the run use more, or less; what it has used stays used. */
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
      // It has the time that it lived so far behind it.
      return { budgets, limit, deadline: deadline === null || was === null ? now + is : deadline + is - was };
    }
    default:
      return { budgets, limit, deadline };
  }
}

/** The time that a run waited for a person is given back to it, unless its budgets say that it counts. */
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
