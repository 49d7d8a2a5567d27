import { describe, expect, test } from "vitest";
import { type Allowance, allowanceAfter, deadlineAfterWaiting } from "../../../src/core/usage/allowance.ts";
import { NO_BUDGETS } from "../../../src/core/usage/budget.ts";
import { NO_LIMIT } from "../../../src/core/usage/quota.ts";

const MINUTE = 60_000;
const NOW = 1_000 * MINUTE;

function allowance(change: Partial<Allowance> = {}): Allowance {
  return { budgets: NO_BUDGETS, limit: NO_LIMIT, deadline: null, ...change };
}

const ONE_HOUR = { ...NO_BUDGETS, maxWallclockMinutes: 60 };

describe("the worker that claims a run", () => {
  test("that sets no limits leaves the run's allowance unchanged", () => {
    const before = allowance({ budgets: ONE_HOUR, deadline: NOW + 5 });
    expect(allowanceAfter(before, NOW, {})).toEqual(before);
  });

  test("may set any deadline if its budgets have no time limit", () => {
    expect(allowanceAfter(allowance({ deadline: 5 }), NOW, { deadline: NOW })).toMatchObject({
      deadline: NOW,
    });
    expect(allowanceAfter(allowance({ deadline: 5 }), NOW, { deadline: null })).toMatchObject({
      deadline: null,
    });
  });

  test("cannot set a deadline past the time limit of its budgets", () => {
    const before = allowance({ budgets: ONE_HOUR, deadline: NOW + 10 });
    expect(allowanceAfter(before, NOW, { deadline: NOW + 20 }).deadline).toBe(NOW + 10);
    expect(allowanceAfter(before, NOW, { deadline: NOW + 3 }).deadline).toBe(NOW + 3);
    expect(allowanceAfter(before, NOW, { deadline: null }).deadline).toBe(NOW + 10);
  });

  test("gets more time only by raising the budget, which counts the time already used", () => {
    const before = allowance({ budgets: ONE_HOUR, deadline: NOW - 1 });
    const after = allowanceAfter(before, NOW, {
      budgets: { maxWallclockMinutes: 90 },
      deadline: NOW + 100 * MINUTE,
    });
    expect(after.deadline).toBe(NOW - 1 + 30 * MINUTE);
  });

  test("cannot set a limit beyond the budget, and each budget changes only its own unit", () => {
    const before = allowance({
      budgets: { ...NO_BUDGETS, maxTokens: 100 },
      limit: { tokens: 100, microDollars: 7 },
    });
    expect(allowanceAfter(before, NOW, { limit: { tokens: 200, microDollars: 9 } }).limit).toEqual({
      tokens: 100,
      microDollars: 9,
    });
    expect(allowanceAfter(before, NOW, { budgets: { maxTokens: 150 } }).limit).toEqual({
      tokens: 150,
      microDollars: 7,
    });
    expect(allowanceAfter(before, NOW, { budgets: { maxCostUsd: 2 } }).limit).toEqual({
      tokens: 100,
      microDollars: 2_000_000,
    });
  });
});

describe("the time that a run waited for a person", () => {
  test("is added to its deadline", () => {
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: NOW }, NOW - 30, NOW)).toBe(NOW + 30);
  });

  test("counts if its budgets say so", () => {
    const budgets = { ...ONE_HOUR, countWaitingTime: true };
    expect(deadlineAfterWaiting({ budgets, deadline: NOW }, NOW - 30, NOW)).toBe(NOW);
  });

  test("is zero if it did not wait, has no deadline, or the clock went back", () => {
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: NOW }, null, NOW)).toBe(NOW);
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: null }, NOW - 30, NOW)).toBeNull();
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: NOW }, NOW + 30, NOW)).toBe(NOW);
  });
});
