import { ConfigurationError } from "../errors.ts";
import { type Budgets, parseRunSpec } from "../job/run-spec.ts";
import type { Limit } from "./quota.ts";

/** A budget by its name, as a RunSpec has it and an error tells it. */
export type BudgetName = Exclude<keyof Budgets, "countWaitingTime">;

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

/** Rounded down, never more than was allowed; but a decimal that a float only comes close to is meant as it was written. */
const MICRO = 1_000_000;

/** What model calls may use. */
export function limitOfBudgets({ maxTokens, maxCostUsd }: Budgets): Limit {
  return {
    tokens: maxTokens,
    microDollars: maxCostUsd === null ? null : Math.floor(maxCostUsd * MICRO + 1e-6),
  };
}

/** How long a run may take, in milliseconds; null: as long as it needs. */
export function wallclockOf({ maxWallclockMinutes }: Budgets): number | null {
  return maxWallclockMinutes === null ? null : Math.round(maxWallclockMinutes * MINUTE_MS);
}

/** The same budgets with one of them at another height, by the rules of a RunSpec. */
export function withBudget(budgets: Budgets, name: unknown, value: unknown): Budgets {
  const known = BUDGET_NAMES.find((each) => each === name);
  if (known === undefined || typeof value !== "number")
    throw new ConfigurationError(
      `${JSON.stringify(value)} is no limit for ${JSON.stringify(name)}: give a number for one of ${BUDGET_NAMES.join(", ")}.`,
    );
  const parsed = parseRunSpec({ objective: "-", budgets: { [known]: value } });
  if (parsed.ok) return { ...budgets, [known]: value };
  throw new ConfigurationError(
    `${value} cannot be ${known}: ${parsed.problems.map(({ message }) => message).join(" ")}`,
  );
}
