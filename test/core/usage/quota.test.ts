import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { type Limit, NO_LIMIT, Quota } from "../../../src/core/usage/quota.ts";
import { type Amount, addAmount, NOTHING } from "../../../src/core/usage/usage.ts";

const UNITS = ["tokens", "microDollars"] as const;
const amount = (tokens: number, microDollars = 0): Amount => ({ tokens, microDollars });
const limit = (tokens: number | null, microDollars: number | null = null): Limit => ({
  tokens,
  microDollars,
});

function reserved(quota: Quota, estimate: Amount): Quota {
  const reservation = quota.reserve(estimate);
  if (reservation.kind === "denied") throw new Error("The reservation was denied.");
  return reservation.quota;
}

const anyAmount = fc.record({ tokens: fc.nat(60), microDollars: fc.nat(60) });
const anyLimit = fc.record({ tokens: fc.option(fc.nat(200)), microDollars: fc.option(fc.nat(200)) });

describe("reserve", () => {
  it("takes from what remains, to the last token", () => {
    const quota = reserved(new Quota(limit(100, 50)), amount(100, 20));
    expect(quota.remaining()).toEqual(limit(0, 30));
    expect(quota.charged).toEqual(NOTHING);
  });

  it("is denied if it wants more than remains, with the unit, the request and the remainder", () => {
    const quota = reserved(new Quota(limit(100, 50)), amount(60, 10));
    expect(quota.reserve(amount(41, 0))).toEqual({
      kind: "denied",
      unit: "tokens",
      wanted: 41,
      remaining: 40,
    });
    expect(quota.reserve(amount(0, 41))).toEqual({
      kind: "denied",
      unit: "microDollars",
      wanted: 41,
      remaining: 40,
    });
  });

  it("leaves the original quota unchanged", () => {
    const quota = new Quota(limit(100));
    quota.reserve(amount(60));
    quota.split(3);
    expect(quota).toEqual(new Quota(limit(100)));
  });

  it("is never denied without a limit", () => {
    const quota = reserved(new Quota(NO_LIMIT), amount(10 ** 12, 10 ** 12));
    expect(quota.remaining()).toEqual(NO_LIMIT);
    expect(quota.reserved).toEqual(amount(10 ** 12, 10 ** 12));
  });
});

describe("reclaim", () => {
  it("charges what was used and frees the rest", () => {
    const quota = reserved(new Quota(limit(100, 100)), amount(60, 60)).reclaim(
      amount(60, 60),
      amount(25, 10),
    );
    expect(quota).toEqual(new Quota(limit(100, 100), amount(25, 10)));
    expect(quota.remaining()).toEqual(limit(75, 90));
  });

  it("frees nothing if the whole reservation is charged", () => {
    const quota = reserved(new Quota(limit(100)), amount(60)).reclaim(amount(60), amount(60));
    expect(quota.remaining().tokens).toBe(40);
  });

  it("charges more than was reserved, and then refuses the next reservation", () => {
    const quota = reserved(new Quota(limit(100)), amount(60)).reclaim(amount(60), amount(130));
    expect(quota.charged.tokens).toBe(130);
    expect(quota.remaining().tokens).toBe(0);
    expect(quota.reserve(amount(1))).toEqual({ kind: "denied", unit: "tokens", wanted: 1, remaining: 0 });
  });

  it("cannot end a reservation twice, or one that was never made", () => {
    const quota = reserved(new Quota(limit(100)), amount(60)).reclaim(amount(60), amount(10));
    expect(() => quota.reclaim(amount(60), amount(10))).toThrow(
      "Cannot reclaim 60 tokens: only 0 are reserved.",
    );
    expect(() => new Quota(NO_LIMIT).reclaim(amount(0, 1), NOTHING)).toThrow(RangeError);
  });
});

describe("split", () => {
  it("shares what remains; the first children get what does not divide", () => {
    const { rest, children } = reserved(new Quota(limit(110, null)), amount(10)).split(3);
    expect(children.map((child) => child.limit)).toEqual([limit(34), limit(33), limit(33)]);
    expect(rest.remaining()).toEqual(limit(0));
    expect(rest.reserved.tokens).toBe(110);
  });

  it("returns shares that add up exactly, for any limits and any number", () => {
    const start = fc.record({ limit: anyLimit, charged: anyAmount, reserved: anyAmount });
    fc.assert(
      fc.property(start, fc.integer({ min: 1, max: 50 }), (given, n) => {
        const quota = new Quota(given.limit, given.charged, given.reserved);
        const { rest, children } = quota.split(n);
        expect(children).toHaveLength(n);
        for (const unit of UNITS) {
          const remaining = quota.remaining()[unit];
          const shares = children.map((child) => child.limit[unit]);
          if (remaining === null) {
            expect(shares.every((share) => share === null)).toBe(true);
            expect(rest.reserved[unit]).toBe(quota.reserved[unit]);
          } else {
            const whole = shares.map((share) => share ?? Number.NaN);
            expect(whole.reduce((sum, share) => sum + share, 0)).toBe(remaining);
            expect(Math.max(...whole) - Math.min(...whole)).toBeLessThanOrEqual(1);
            expect(rest.remaining()[unit]).toBe(0);
            expect(rest.reserved[unit]).toBe(quota.reserved[unit] + remaining);
          }
        }
        expect(rest.charged).toEqual(quota.charged);
      }),
    );
  });

  it("returns what the children did not use", () => {
    const parent = new Quota(limit(100));
    const { rest, children } = parent.split(2);
    const after = children.reduce((quota, child, i) => {
      const used = reserved(child, amount(20)).reclaim(amount(20), amount(5 + i));
      return quota.reclaim(amount(child.limit.tokens ?? 0), used.charged);
    }, rest);
    expect(after).toEqual(new Quota(limit(100), amount(11)));
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("cannot be in %s", (n) => {
    expect(() => new Quota(limit(1)).split(n)).toThrow(RangeError);
  });
});

describe("only whole numbers of 0 or more are accepted", () => {
  const quota = reserved(new Quota(limit(100, 100)), amount(50, 50));

  describe.each([0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("not %s", (bad) => {
    it.each<[string, () => unknown]>([
      ["as a limit in tokens", () => new Quota(limit(bad))],
      ["as a limit in micro-dollars", () => new Quota(limit(null, bad))],
      ["as a charge", () => new Quota(NO_LIMIT, amount(bad))],
      ["as a reserved amount", () => new Quota(NO_LIMIT, NOTHING, amount(0, bad))],
      ["as an estimate to reserve", () => quota.reserve(amount(bad))],
      ["as an estimate to reclaim", () => quota.reclaim(amount(bad), NOTHING)],
      ["as an estimate to reclaim in micro-dollars", () => quota.reclaim(amount(0, bad), NOTHING)],
      ["as what was used", () => quota.reclaim(amount(1), amount(bad))],
      ["as what was used in micro-dollars", () => quota.reclaim(amount(1), amount(0, bad))],
    ])("%s", (_, attempt) => {
      expect(attempt).toThrow(ConfigurationError);
    });
  });
});

/** A reference model of the quota: a list of what happened instead of sums. */
type Model = { readonly limit: Limit; open: Amount[]; charges: Amount[] };
type Real = { quota: Quota };
const total = (amounts: readonly Amount[]) => amounts.reduce(addAmount, NOTHING);

function expectSame({ limit: limits, open, charges }: Model, { quota }: Real): void {
  expect(quota.reserved).toEqual(total(open));
  expect(quota.charged).toEqual(total(charges));
  for (const unit of UNITS) {
    const most = limits[unit];
    const held = quota.reserved[unit] + quota.charged[unit];
    expect(quota.remaining()[unit]).toBe(most === null ? null : Math.max(0, most - held));
  }
}

class Reserve implements fc.Command<Model, Real> {
  readonly estimate: Amount;
  constructor(estimate: Amount) {
    this.estimate = estimate;
  }
  check(): boolean {
    return true;
  }
  run(model: Model, real: Real): void {
    const held = addAmount(total(model.open), total(model.charges));
    const fits = UNITS.every((unit) => {
      const most = model.limit[unit];
      // An amount of zero can always be reserved, even after overage.
      return most === null || this.estimate[unit] === 0 || held[unit] + this.estimate[unit] <= most;
    });
    const reservation = real.quota.reserve(this.estimate);
    expect(reservation.kind).toBe(fits ? "reserved" : "denied");
    if (reservation.kind === "reserved") {
      model.open.push(this.estimate);
      real.quota = reservation.quota;
    }
    expectSame(model, real);
  }
  toString(): string {
    return `reserve(${JSON.stringify(this.estimate)})`;
  }
}

class Reclaim implements fc.Command<Model, Real> {
  readonly which: number;
  readonly actual: Amount;
  constructor(which: number, actual: Amount) {
    this.which = which;
    this.actual = actual;
  }
  check(model: Readonly<Model>): boolean {
    return model.open.length > 0;
  }
  run(model: Model, real: Real): void {
    const [estimate = NOTHING] = model.open.splice(this.which % model.open.length, 1);
    const before = real.quota;
    real.quota = before.reclaim(estimate, this.actual);
    model.charges.push(this.actual);
    for (const unit of UNITS) {
      const heldBefore = before.reserved[unit] + before.charged[unit];
      const refund = heldBefore - (real.quota.reserved[unit] + real.quota.charged[unit]);
      expect(refund).toBeLessThanOrEqual(estimate[unit]);
    }
    expectSame(model, real);
  }
  toString(): string {
    return `reclaim(#${this.which}, ${JSON.stringify(this.actual)})`;
  }
}

class ReclaimTooMuch implements fc.Command<Model, Real> {
  check(): boolean {
    return true;
  }
  run(model: Model, real: Real): void {
    expect(() => real.quota.reclaim(amount(total(model.open).tokens + 1), NOTHING)).toThrow(RangeError);
    expectSame(model, real);
  }
  toString(): string {
    return "reclaimTooMuch";
  }
}

describe("any sequence of reservations and reclaims", () => {
  it("loses nothing and creates nothing", () => {
    const commands = fc.commands(
      [
        anyAmount.map((estimate) => new Reserve(estimate)),
        fc.tuple(fc.nat(), anyAmount).map(([which, actual]) => new Reclaim(which, actual)),
        fc.constant(new ReclaimTooMuch()),
      ],
      { maxCommands: 60 },
    );
    fc.assert(
      fc.property(anyLimit, commands, (limits, sequence) => {
        fc.modelRun(
          () => ({ model: { limit: limits, open: [], charges: [] }, real: { quota: new Quota(limits) } }),
          sequence,
        );
      }),
      { numRuns: 300 },
    );
  });
});
