import { describe, expect, it } from "vitest";
import { NO_BUDGETS } from "../../../src/core/usage/budget.ts";
import { type BudgetUse, fullestBudget } from "../../../src/core/usage/budget-share.ts";
import { NO_LIMIT } from "../../../src/core/usage/quota.ts";

const USED: BudgetUse = {
  limit: NO_LIMIT,
  budgets: null,
  charged: { tokens: 60, microDollars: 500_000 },
  reserved: { tokens: 20, microDollars: 0 },
  toolCalls: 3,
  steps: 1,
};

describe("the fullest budget of a run", () => {
  it("is none if nothing is limited", () => {
    expect(fullestBudget(USED)).toBeNull();
    expect(fullestBudget({ ...USED, budgets: { ...NO_BUDGETS, maxWallclockMinutes: 1 } })).toBeNull();
  });

  it("is the one with the largest share, with what is reserved, in the unit of the budget", () => {
    const limit = { tokens: 100, microDollars: 1_000_000 };
    expect(fullestBudget({ ...USED, limit })).toEqual({
      budget: "maxTokens",
      used: 80,
      limit: 100,
      share: 0.8,
    });
    const dollars = { tokens: null, microDollars: 400_000 };
    expect(fullestBudget({ ...USED, limit: dollars })).toEqual({
      budget: "maxCostUsd",
      used: 0.5,
      limit: 0.4,
      share: 1.25,
    });
    const budgets = { ...NO_BUDGETS, maxToolCalls: 3, maxSteps: 2 };
    expect(fullestBudget({ ...USED, limit, budgets })).toMatchObject({ budget: "maxToolCalls", share: 1 });
  });

  it("is used up from the start if it is nothing", () => {
    const budgets = { ...NO_BUDGETS, maxToolCalls: 0 };
    expect(fullestBudget({ ...USED, toolCalls: 0, budgets })).toMatchObject({ used: 0, limit: 0, share: 1 });
  });
});
