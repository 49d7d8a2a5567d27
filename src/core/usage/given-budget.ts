import { assertOptions, type OptionNames } from "../naming/option-names.ts";
import type { Limit } from "./quota.ts";

/** A limit on the cost of model calls, in tokens, micro-dollars or both. */
export type Budget = { readonly tokens?: number; readonly microDollars?: number };

const BUDGET_NAMES = { tokens: true, microDollars: true } satisfies OptionNames<Budget>;
const BUDGET_OTHER_NAMES = {
  usd: "microDollars (1 USD is 1,000,000)",
  dollars: "microDollars (1 dollar is 1,000,000)",
  maxCostUsd: "microDollars (1 USD is 1,000,000)",
  maxTokens: "tokens",
};

export function limitOf(budget: Budget | undefined): Limit {
  assertOptions("A budget", budget ?? {}, BUDGET_NAMES, BUDGET_OTHER_NAMES);
  return { tokens: budget?.tokens ?? null, microDollars: budget?.microDollars ?? null };
}
