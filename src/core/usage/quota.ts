import { ConfigurationError } from "../errors.ts";
import { type Amount, addAmount, NOTHING } from "./usage.ts";

/** A limit in tokens, in micro-dollars, in both or in neither; `null` is no limit. */
export type Limit = { readonly tokens: number | null; readonly microDollars: number | null };

export const NO_LIMIT: Limit = { tokens: null, microDollars: null };

/** The lower of two limits, in each unit. */
export function stricter(a: Limit, b: Limit): Limit {
  const lower = (x: number | null, y: number | null) => (x === null ? y : y === null ? x : Math.min(x, y));
  return { tokens: lower(a.tokens, b.tokens), microDollars: lower(a.microDollars, b.microDollars) };
}

export type Reservation =
  | { readonly kind: "reserved"; readonly quota: Quota }
  | {
      readonly kind: "denied";
      readonly unit: keyof Amount;
      readonly wanted: number;
      readonly remaining: number;
    };

const UNITS = ["tokens", "microDollars"] as const;

/**
 * A budget as an immutable value: reserve before the call, reclaim once after it. Every method returns a new quota, so that
 * the store can decide inside its transaction and store the result.
 */
export class Quota {
  readonly limit: Limit;
  readonly charged: Amount;
  readonly reserved: Amount;

  constructor(limit: Limit, charged: Amount = NOTHING, reserved: Amount = NOTHING) {
    for (const unit of UNITS) {
      assertWhole(`limit of ${unit}`, limit[unit] ?? 0);
      assertWhole(`charged ${unit}`, charged[unit]);
      assertWhole(`reserved ${unit}`, reserved[unit]);
    }
    this.limit = limit;
    this.charged = charged;
    this.reserved = reserved;
  }

  reserve(estimate: Amount): Reservation {
    for (const unit of UNITS) {
      assertWhole(`estimate of ${unit}`, estimate[unit]);
      const remaining = this.remaining()[unit];
      if (remaining !== null && estimate[unit] > remaining) {
        return { kind: "denied", unit, wanted: estimate[unit], remaining };
      }
    }
    return {
      kind: "reserved",
      quota: new Quota(this.limit, this.charged, addAmount(this.reserved, estimate)),
    };
  }

  /**
   * Ends a reservation: `actual` is charged, the rest of `estimate` is free again. `actual` may exceed it (overage): it is
   * charged anyway, and the next reserve is refused.
   */
  reclaim(estimate: Amount, actual: Amount): Quota {
    for (const unit of UNITS) {
      assertWhole(`estimate of ${unit}`, estimate[unit]);
      assertWhole(`actual ${unit}`, actual[unit]);
      if (estimate[unit] > this.reserved[unit]) {
        throw new RangeError(
          `Cannot reclaim ${estimate[unit]} ${unit}: only ${this.reserved[unit]} are reserved.`,
        );
      }
    }
    const reserved = {
      tokens: this.reserved.tokens - estimate.tokens,
      microDollars: this.reserved.microDollars - estimate.microDollars,
    };
    return new Quota(this.limit, addAmount(this.charged, actual), reserved);
  }

  /** The amount that can still be reserved: never below 0, `null` without a limit. */
  remaining(): Limit {
    const left = (unit: keyof Amount) => {
      const limit = this.limit[unit];
      return limit === null ? null : Math.max(0, limit - this.charged[unit] - this.reserved[unit]);
    };
    return { tokens: left("tokens"), microDollars: left("microDollars") };
  }

  /**
   * Splits the remaining amount among `n` children, to the last token: their limits add up to it exactly. It is reserved
   * here until their charges are reclaimed.
   */
  split(n: number): { readonly rest: Quota; readonly children: readonly Quota[] } {
    if (!Number.isSafeInteger(n) || n < 1)
      throw new RangeError(`Cannot split a quota in ${n}: give a whole number of at least 1.`);
    const remaining = this.remaining();
    const share = (unit: keyof Amount, i: number) => {
      const whole = remaining[unit];
      return whole === null ? null : Math.floor(whole / n) + (i < whole % n ? 1 : 0);
    };
    const children = Array.from(
      { length: n },
      (_, i) => new Quota({ tokens: share("tokens", i), microDollars: share("microDollars", i) }),
    );
    const given = { tokens: remaining.tokens ?? 0, microDollars: remaining.microDollars ?? 0 };
    return { rest: new Quota(this.limit, this.charged, addAmount(this.reserved, given)), children };
  }
}

function assertWhole(what: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new ConfigurationError(`The ${what} is ${value}: give a whole number, 0 or more.`);
}
