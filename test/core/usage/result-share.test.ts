import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  defaultResultTokens,
  MIN_RESULT_TOKENS,
  resultLimits,
  shareOut,
  WHOLE_RESULTS,
} from "../../../src/core/usage/result-share.ts";

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const counts = fc.array(fc.nat(200_000), { maxLength: 40 });

describe("shareOut", () => {
  it.each([
    { tokens: [], each: 100, together: 100, shares: [] },
    { tokens: [50, 60], each: 100, together: 200, shares: [50, 60] },
    { tokens: [500_000], each: 100, together: 200, shares: [100] },
    { tokens: [90, 10, 900, 900], each: 500, together: 500, shares: [90, 10, 200, 200] },
    { tokens: [300, 300, 300], each: 1_000, together: 600, shares: [200, 200, 200] },
  ])("gives $tokens the shares $shares of $together", ({ tokens, each, together, shares }) => {
    expect(shareOut(tokens, { each, together })).toEqual(shares);
  });

  it("gives no result more than it has, nor all together more than the limit beyond the least for each", () => {
    fc.assert(
      fc.property(counts, fc.nat(50_000), fc.nat(100_000), (tokens, each, together) => {
        const shares = shareOut(tokens, { each, together });
        for (const [i, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(Math.max(MIN_RESULT_TOKENS, each));
          expect(share).toBeGreaterThanOrEqual(Math.min(tokens[i] ?? 0, MIN_RESULT_TOKENS));
          expect(share).toBeLessThanOrEqual(tokens[i] ?? 0);
        }
        expect(sum(shares)).toBeLessThanOrEqual(Math.max(together, tokens.length * MIN_RESULT_TOKENS));
      }),
    );
  });

  it("never gives a result less if the limit is higher", () => {
    fc.assert(
      fc.property(counts, fc.nat(100_000), fc.nat(1_000), (tokens, together, more) => {
        const few = shareOut(tokens, { each: 100_000, together });
        const many = shareOut(tokens, { each: 100_000, together: together + more });
        for (const [i, share] of few.entries()) expect(many[i]).toBeGreaterThanOrEqual(share);
      }),
    );
  });

  it("leaves all results whole with WHOLE_RESULTS", () => {
    fc.assert(
      fc.property(counts, (tokens) => {
        expect(shareOut(tokens, WHOLE_RESULTS)).toEqual(tokens);
      }),
    );
  });
});

describe("the limits of a view", () => {
  it("are a third of the history for one result, and half of it for those of one turn", () => {
    expect(resultLimits(128_000, defaultResultTokens(128_000))).toEqual({ each: 42_666, together: 64_000 });
  });

  it("give one result its own limit, even if that is more than half", () => {
    expect(resultLimits(100_000, 80_000)).toEqual({ each: 80_000, together: 80_000 });
  });
});
