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

describe("who takes a run", () => {
  test("and wishes nothing leaves it what it may use", () => {
    const before = allowance({ budgets: ONE_HOUR, deadline: NOW + 5 });
    expect(allowanceAfter(before, NOW, {})).toEqual(before);
  });

  test("may set a deadline at will where its budgets give it no time of its own", () => {
    expect(allowanceAfter(allowance({ deadline: 5 }), NOW, { deadline: NOW })).toMatchObject({
      deadline: NOW,
    });
    expect(allowanceAfter(allowance({ deadline: 5 }), NOW, { deadline: null })).toMatchObject({
      deadline: null,
    });
  });

  test("cannot set a deadline past the time that its budgets give it", () => {
    const before = allowance({ budgets: ONE_HOUR, deadline: NOW + 10 });
    expect(allowanceAfter(before, NOW, { deadline: NOW + 20 }).deadline).toBe(NOW + 10);
    expect(allowanceAfter(before, NOW, { deadline: NOW + 3 }).deadline).toBe(NOW + 3);
    expect(allowanceAfter(before, NOW, { deadline: null }).deadline).toBe(NOW + 10);
  });

  test("can have more time only by raising the budget, which counts the time that is behind the run", () => {
    const before = allowance({ budgets: ONE_HOUR, deadline: NOW - 1 });
    const after = allowanceAfter(before, NOW, {
      budgets: { maxWallclockMinutes: 90 },
      deadline: NOW + 100 * MINUTE,
    });
    expect(after.deadline).toBe(NOW - 1 + 30 * MINUTE);
  });

  test("cannot set a limit beyond the budget, and each budget moves its own unit", () => {
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
  test("is given back to it", () => {
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: NOW }, NOW - 30, NOW)).toBe(NOW + 30);
  });

  test("counts where its budgets say so", () => {
    const budgets = { ...ONE_HOUR, countWaitingTime: true };
    expect(deadlineAfterWaiting({ budgets, deadline: NOW }, NOW - 30, NOW)).toBe(NOW);
  });

  test("is nothing where it did not wait, has no deadline, or the clock went back", () => {
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: NOW }, null, NOW)).toBe(NOW);
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: null }, NOW - 30, NOW)).toBeNull();
    expect(deadlineAfterWaiting({ budgets: ONE_HOUR, deadline: NOW }, NOW + 30, NOW)).toBe(NOW);
  });
});
