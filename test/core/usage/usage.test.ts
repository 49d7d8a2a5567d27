import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import {
  addAmount,
  addUsage,
  amountOf,
  assertPricing,
  chargeFor,
  type ModelPrice,
  NO_USAGE,
  NOTHING,
  type Pricing,
  UNPRICED,
  type Usage,
  usageOf,
} from "../../../src/core/usage/usage.ts";

const usage = (figures: Partial<Usage>): Usage => ({ ...NO_USAGE, ...figures });
const pricing = (price: ModelPrice): Pricing => ({ id: "test", models: { m: price } });
/** $2.50 for a million tokens in, $0.25 cached, $10 out. */
const PRICE: ModelPrice = {
  inputPerMillion: 2_500_000,
  cachedInputPerMillion: 250_000,
  outputPerMillion: 10_000_000,
};

const anyUsage = fc
  .record({
    inputTokens: fc.nat(2_000_000),
    outputTokens: fc.nat(200_000),
    cachedInputTokens: fc.nat(2_000_000),
  })
  .map(usage);
const anyPrice = fc.record(
  {
    inputPerMillion: fc.nat(100_000_000),
    cachedInputPerMillion: fc.nat(100_000_000),
    outputPerMillion: fc.nat(500_000_000),
  },
  { requiredKeys: ["inputPerMillion", "outputPerMillion"] },
);

describe("amountOf", () => {
  it("prices a million tokens at the price of a million tokens", () => {
    expect(amountOf(usage({ inputTokens: 1_000_000 }), "m", pricing(PRICE)).microDollars).toBe(2_500_000);
    expect(amountOf(usage({ outputTokens: 1_000_000 }), "m", pricing(PRICE)).microDollars).toBe(10_000_000);
  });

  it("counts cached tokens once, at their own price", () => {
    expect(amountOf(usage({ inputTokens: 1000, cachedInputTokens: 600 }), "m", pricing(PRICE))).toEqual({
      tokens: 1000,
      microDollars: 400 * 2.5 + 600 * 0.25,
    });
  });

  it("prices cached tokens like others if the plan has no price for them", () => {
    const price = { inputPerMillion: 2_500_000, outputPerMillion: 0 };
    expect(
      amountOf(usage({ inputTokens: 1000, cachedInputTokens: 600 }), "m", pricing(price)).microDollars,
    ).toBe(2500);
  });

  it("never counts more tokens as cached than came in", () => {
    expect(
      amountOf(usage({ inputTokens: 1000, cachedInputTokens: 5000 }), "m", pricing(PRICE)).microDollars,
    ).toBe(250);
  });

  it("does not charge reasoning a second time: it is part of the output", () => {
    const plain = usage({ outputTokens: 100 });
    expect(amountOf({ ...plain, reasoningTokens: 80 }, "m", pricing(PRICE))).toEqual(
      amountOf(plain, "m", pricing(PRICE)),
    );
  });

  it("rounds up: the smallest part of a micro-dollar counts as a whole one", () => {
    const price = { inputPerMillion: 1, outputPerMillion: 0 };
    expect(amountOf(usage({ inputTokens: 1 }), "m", pricing(price)).microDollars).toBe(1);
    expect(amountOf(usage({ inputTokens: 1_000_000 }), "m", pricing(price)).microDollars).toBe(1);
    expect(amountOf(usage({ inputTokens: 1_000_001 }), "m", pricing(price)).microDollars).toBe(2);
    expect(amountOf(NO_USAGE, "m", pricing(price))).toEqual(NOTHING);
  });

  it("charges a model without a price in tokens only", () => {
    const used = usage({ inputTokens: 3, outputTokens: 4 });
    expect(amountOf(used, "other", pricing(PRICE))).toEqual({ tokens: 7, microDollars: 0 });
    expect(amountOf(used, "m", UNPRICED)).toEqual({ tokens: 7, microDollars: 0 });
  });

  it("is the exact price, rounded up to a whole micro-dollar", () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, (used, price) => {
        const input = BigInt(used.inputTokens);
        const cached = BigInt(Math.min(used.inputTokens, used.cachedInputTokens));
        const exact =
          (input - cached) * BigInt(price.inputPerMillion) +
          cached * BigInt(price.cachedInputPerMillion ?? price.inputPerMillion) +
          BigInt(used.outputTokens) * BigInt(price.outputPerMillion);
        const { tokens, microDollars } = amountOf(used, "m", pricing(price));
        expect(BigInt(microDollars)).toBe((exact + 999_999n) / 1_000_000n);
        expect(tokens).toBe(used.inputTokens + used.outputTokens);
      }),
    );
  });
});

describe("sums", () => {
  it("addAmount and addUsage add field by field, and each has a zero", () => {
    expect(addAmount({ tokens: 1, microDollars: 2 }, { tokens: 10, microDollars: 20 })).toEqual({
      tokens: 11,
      microDollars: 22,
    });
    const a = { inputTokens: 1, outputTokens: 2, cachedInputTokens: 3, reasoningTokens: 4 };
    const b = { inputTokens: 10, outputTokens: 20, cachedInputTokens: 30, reasoningTokens: 40 };
    expect(addUsage(a, b)).toEqual({
      inputTokens: 11,
      outputTokens: 22,
      cachedInputTokens: 33,
      reasoningTokens: 44,
    });
    expect(addUsage(a, NO_USAGE)).toEqual(a);
    expect(addAmount({ tokens: 1, microDollars: 2 }, NOTHING)).toEqual({ tokens: 1, microDollars: 2 });
  });
});

describe("assertPricing", () => {
  it("accepts whole micro-dollars, and free models", () => {
    expect(() => assertPricing(pricing(PRICE))).not.toThrow();
    expect(() => assertPricing(pricing({ inputPerMillion: 0, outputPerMillion: 0 }))).not.toThrow();
    expect(() => assertPricing(UNPRICED)).not.toThrow();
  });

  it.each([2.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("refuses a price of %s", (price) => {
    for (const field of ["inputPerMillion", "cachedInputPerMillion", "outputPerMillion"]) {
      expect(() => assertPricing(pricing({ ...PRICE, [field]: price }))).toThrow(ConfigurationError);
    }
  });

  it("names the price, the model and the plan", () => {
    expect(() => assertPricing(pricing({ ...PRICE, outputPerMillion: 0.1 }))).toThrow(
      'The price outputPerMillion of m in pricing plan "test" is 0.1: give whole micro-dollars',
    );
  });
});

describe("usageOf", () => {
  const whole = usage({ inputTokens: 20, outputTokens: 9, cachedInputTokens: 8, reasoningTokens: 4 });

  it("takes whole figures as they are, and counts missing figures of parts as 0", () => {
    expect(usageOf(whole, { hasContent: true })).toEqual(whole);
    const { inputTokens, outputTokens } = whole;
    expect(usageOf({ inputTokens, outputTokens }, { hasContent: true })).toEqual(
      usage({ inputTokens, outputTokens }),
    );
  });

  it.each(["inputTokens", "outputTokens", "cachedInputTokens", "reasoningTokens"] as const)(
    "is null if %s cannot be true",
    (figure) => {
      for (const wrong of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "20", 20n, {}])
        expect(usageOf({ ...whole, [figure]: wrong }, { hasContent: true })).toBeNull();
    },
  );

  it.each(["inputTokens", "outputTokens"] as const)("is null without %s, or if that is 0", (figure) => {
    for (const missing of [undefined, null, 0])
      expect(usageOf({ ...whole, [figure]: missing }, { hasContent: true })).toBeNull();
  });

  it("may have no output if the answer is empty", () => {
    expect(usageOf({ ...whole, outputTokens: 0 }, { hasContent: false })).toEqual({
      ...whole,
      outputTokens: 0,
    });
    expect(usageOf({ inputTokens: 20 }, { hasContent: false })).toBeNull();
  });

  it("is null if nothing was reported", () => {
    expect(usageOf(null, { hasContent: true })).toBeNull();
    expect(usageOf({}, { hasContent: false })).toBeNull();
  });
});

describe("chargeFor", () => {
  const reserved = { tokens: 1000, microDollars: 5000 };
  const used = usage({ inputTokens: 10, outputTokens: 20 });
  const price = ({ inputTokens, outputTokens }: Usage) => ({
    tokens: inputTokens + outputTokens,
    microDollars: 7,
  });

  it("charges the provider's figures if it gave them", () => {
    expect(chargeFor({ kind: "answered", usage: used }, reserved, price)).toEqual({
      basis: "provider",
      amount: { tokens: 30, microDollars: 7 },
      usage: used,
    });
  });

  it("charges the provider's figures even if they exceed the reservation", () => {
    const much = usage({ inputTokens: 5000 });
    expect(chargeFor({ kind: "answered", usage: much }, reserved, price).amount.tokens).toBe(5000);
  });

  it("charges the whole reservation if the provider answered without figures", () => {
    expect(chargeFor({ kind: "answered", usage: null }, reserved, price)).toEqual({
      basis: "baseline",
      amount: reserved,
      usage: NO_USAGE,
    });
  });

  it("charges the whole reservation if the figures exceed what any call can cost", () => {
    const dear = () => ({ tokens: 30, microDollars: 2 ** 53 });
    expect(chargeFor({ kind: "answered", usage: used }, reserved, dear)).toEqual({
      basis: "baseline",
      amount: reserved,
      usage: NO_USAGE,
    });
  });

  it("charges the whole reservation if the usage is unknown", () => {
    expect(chargeFor({ kind: "unanswered" }, reserved, price)).toEqual({
      basis: "baseline",
      amount: reserved,
      usage: NO_USAGE,
    });
  });

  it.each(["rejected", "not_sent"] as const)("charges nothing for a call that was %s", (kind) => {
    expect(chargeFor({ kind }, reserved, price)).toEqual({ basis: "none", amount: NOTHING, usage: NO_USAGE });
  });
});
