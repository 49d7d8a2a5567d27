import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import {
  BUDGET_NAMES,
  type BudgetName,
  limitOfBudgets,
  NO_BUDGETS,
  wallclockOf,
  withBudget,
} from "../../../src/core/usage/budget.ts";

describe("the budgets of a run", () => {
  it("have all fields of a RunSpec's budgets, and no limits by default", () => {
    const { countWaitingTime, ...limits } = NO_BUDGETS;
    expect(Object.keys(limits)).toEqual(BUDGET_NAMES);
    expect(new Set(Object.values(limits))).toEqual(new Set([null]));
    expect(countWaitingTime).toBe(false);
    expect(limitOfBudgets(NO_BUDGETS)).toEqual({ tokens: null, microDollars: null });
    expect(wallclockOf(NO_BUDGETS)).toBeNull();
  });

  it.each([
    [0.29, 290_000],
    [2.5, 2_500_000],
    [0.000_001, 1],
    [1_000_000, 1_000_000_000_000],
  ])("in money are counted in whole micro-dollars: %d is %d", (maxCostUsd, microDollars) => {
    expect(limitOfBudgets({ ...NO_BUDGETS, maxCostUsd })).toEqual({ tokens: null, microDollars });
  });

  it("in money are exactly as written, even if a float is only close to it", () => {
    expect(limitOfBudgets({ ...NO_BUDGETS, maxCostUsd: 1.005 }).microDollars).toBe(1_005_000);
  });

  it("in money are never more than was allowed", () => {
    expect(limitOfBudgets({ ...NO_BUDGETS, maxCostUsd: 0.000_001_9 }).microDollars).toBe(1);
  });

  it("in minutes are counted in whole milliseconds", () => {
    expect(wallclockOf({ ...NO_BUDGETS, maxWallclockMinutes: 1.5 })).toBe(90_000);
    expect(wallclockOf({ ...NO_BUDGETS, maxWallclockMinutes: 0.001 })).toBe(60);
  });
});

describe("a changed budget", () => {
  it("leaves the others as they are", () => {
    const before = { ...NO_BUDGETS, maxSteps: 3, countWaitingTime: true };
    expect(withBudget(before, "maxToolCalls", 7)).toEqual({ ...before, maxToolCalls: 7 });
    expect(withBudget(before, "maxSteps", 1)).toEqual({ ...before, maxSteps: 1 });
    expect(before.maxSteps).toBe(3);
  });

  it("may be a fraction if it is time or money", () => {
    expect(withBudget(NO_BUDGETS, "maxWallclockMinutes", 0.5).maxWallclockMinutes).toBe(0.5);
    expect(withBudget(NO_BUDGETS, "maxCostUsd", 0.25).maxCostUsd).toBe(0.25);
  });

  it.each<[BudgetName, unknown]>([
    ["maxSteps", 1.5],
    ["maxSteps", 0],
    ["maxToolCalls", -1],
    ["maxTokens", "12"],
    ["maxTokens", null],
    ["maxTokens", undefined],
    ["maxTokens", Number.NaN],
    ["maxRetriesPerToolCall", 0.5],
    ["maxSameErrorRepeats", 0],
    ["maxCostUsd", Number.POSITIVE_INFINITY],
    ["maxCostUsd", 0],
    ["maxWallclockMinutes", -5],
    ["maxWallclockMinutes", [5]],
  ])("of %s cannot be %j, and the message says which and why", (name, value) => {
    const change = () => withBudget(NO_BUDGETS, name, value);
    expect(change).toThrow(ConfigurationError);
    expect(change).toThrow(name);
  });

  it.each(["max_steps", "countWaitingTime", "constructor", "", null, 3])("must exist: not %j", (name) => {
    expect(() => withBudget(NO_BUDGETS, name, 3)).toThrow(BUDGET_NAMES.join(", "));
  });
});
