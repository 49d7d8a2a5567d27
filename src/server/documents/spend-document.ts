import { type Amount, addAmount, NOTHING } from "../../core/usage/usage.ts";
import { isoTime } from "../../export/figures.ts";
import type { SpendBucket, SpendCharge } from "../../store/store.ts";

const BASES = ["provider", "baseline", "none"] as const;
const NO_CHARGE: SpendCharge = { requests: 0, charged: NOTHING };

/** A bar of a chart: what requests were charged in a span of time. */
export function bucketDocument({ at, pipeline, charges }: SpendBucket) {
  const { provider, baseline, none } = charges;
  return { at: isoTime(at), pipeline, provider, baseline, none };
}

/** The buckets of all pipelines together. */
export function joinedBuckets(buckets: readonly SpendBucket[]): readonly SpendBucket[] {
  return [...Map.groupBy(buckets, ({ at }) => at)].map(([at, group]) => ({
    at,
    pipeline: null,
    charges: joinedCharges(group),
    lost: sumOf(group.map(({ lost }) => lost)),
  }));
}

/** What each pipeline has cost, the dearest first. */
export function pipelineSpends(buckets: readonly SpendBucket[]) {
  return [...Map.groupBy(buckets, ({ pipeline }) => pipeline ?? "")]
    .map(([pipeline, group]) => ({ pipeline, ...joinedCharge(Object.values(joinedCharges(group))) }))
    .toSorted(
      (a, b) => b.charged.microDollars - a.charged.microDollars || b.charged.tokens - a.charged.tokens,
    );
}

export function sumOf(amounts: readonly Amount[]): Amount {
  return amounts.reduce(addAmount, NOTHING);
}

function joinedCharges(buckets: readonly SpendBucket[]): SpendBucket["charges"] {
  const [provider = NO_CHARGE, baseline = NO_CHARGE, none = NO_CHARGE] = BASES.map((basis) =>
    joinedCharge(buckets.map(({ charges }) => charges[basis])),
  );
  return { provider, baseline, none };
}

function joinedCharge(charges: readonly SpendCharge[]): SpendCharge {
  return {
    requests: charges.reduce((sum, { requests }) => sum + requests, 0),
    charged: sumOf(charges.map(({ charged }) => charged)),
  };
}
