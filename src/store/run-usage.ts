import type { Amount, Usage } from "../core/usage/usage.ts";

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
