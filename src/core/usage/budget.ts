import { ConfigurationError } from "../errors.ts";
import type { Budgets } from "../job/budgets.ts";
import { BUDGET_RANGES, type BudgetName, isInRange } from "../job/budgets.ts";
import type { Limit } from "./quota.ts";

export type { BudgetName } from "../job/budgets.ts";

export const BUDGET_NAMES: readonly BudgetName[] = [
  "maxWallclockMinutes",
  "maxSteps",
  "maxToolCalls",
  "maxRetriesPerToolCall",
  "maxSameErrorRepeats",
  "maxTokens",
  "maxCostUsd",
];

export const NO_BUDGETS: Budgets = {
  maxWallclockMinutes: null,
  maxSteps: null,
  maxToolCalls: null,
  maxRetriesPerToolCall: null,
  maxSameErrorRepeats: null,
  maxTokens: null,
  maxCostUsd: null,
  countWaitingTime: false,
};

const MINUTE_MS = 60_000;

const MICRO = 1_000_000;

/** The limit for model calls. Rounded down, never more than allowed, but a decimal counts as written, not as its float. */
export function limitOfBudgets({ maxTokens, maxCostUsd }: Budgets): Limit {
  return {
    tokens: maxTokens,
    microDollars: maxCostUsd === null ? null : Math.floor(maxCostUsd * MICRO + 1e-6),
  };
}

/** The maximum duration of a run, in milliseconds; null is no limit. */
export function wallclockOf({ maxWallclockMinutes }: Budgets): number | null {
  return maxWallclockMinutes === null ? null : Math.round(maxWallclockMinutes * MINUTE_MS);
}

/** The same budgets with one changed, validated like a RunSpec. */
export function withBudget(budgets: Budgets, name: unknown, value: unknown): Budgets {
  const known = BUDGET_NAMES.find((each) => each === name);
  if (known === undefined || typeof value !== "number")
    throw new ConfigurationError(
      `${JSON.stringify(value)} is no limit for ${JSON.stringify(name)}: give a number for one of ${BUDGET_NAMES.join(", ")}.`,
    );
  const range = BUDGET_RANGES[known];
  if (isInRange(value, range)) return { ...budgets, [known]: value };
  throw new ConfigurationError(`${value} cannot be ${known}: it must be ${range.must}.`);
}
