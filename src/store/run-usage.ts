import type { BudgetShare } from "../core/usage/budget-share.ts";
import type { Amount, ChargeBasis, Usage } from "../core/usage/usage.ts";
import type { RunScope, RunSummary } from "./run-summary.ts";

/**
 * What the model attempts of a run used, and what was charged for them. The token counts are the provider's
 * figures; `charged` also has the attempts without figures (`baseline`).
 */
export type RunUsage = Usage & {
  readonly charged: Amount;
  /** The number of attempts that were charged. */
  readonly modelCalls: number;
  readonly baseline: BaselineUsage;
};

/**
 * The part of a run's charges that is reserved amounts and not the provider's figures: it gave none, so the
 * attempt was charged in full, although the provider may have billed less or nothing.
 */
export type BaselineUsage = { readonly charged: Amount; readonly modelCalls: number };

/** Which model calls to add up. */
export type SpendQuery = RunScope & {
  /** Settled then or later, and before then; in milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  /** The length of a bucket; the first one begins at `since`. */
  readonly bucketMs: number;
  /** Buckets of each pipeline, or of all of them together. */
  readonly by: "pipeline" | null;
};

/** What model calls cost in a span of time. A bucket without calls is left out. */
export type SpendBucket = {
  /** When it begins. */
  readonly at: number;
  /** Null for all pipelines together. */
  readonly pipeline: string | null;
  /** By what the charges are based on. */
  readonly charges: { readonly [basis in ChargeBasis]: SpendCharge };
  /** The part that brought nothing: calls without a kept answer, and turns of lineages that were given up. */
  readonly lost: Amount;
};

/** Settled requests, and what they were charged. */
export type SpendCharge = { readonly requests: number; readonly charged: Amount };

/** Which of the runs that were created since then have cost most. */
export type CostlyQuery = RunScope & { readonly since: number; readonly limit: number };

/** A run that has not ended and has used most of a budget. */
export type RunNearBudget = { readonly run: RunSummary; readonly fullest: BudgetShare };
