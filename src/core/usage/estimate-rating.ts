/** How far the provider's count of a request is from the estimate that was made of it. */
export type EstimateRating = {
  /** `no_count`: what the provider gave is no count of this request. */
  readonly kind: "near" | "too_low" | "too_high" | "no_count";
};

/** An estimate is a guess: half or twice the count is worth a word, and only where it is not about a few sentences. */
const FAR_FACTOR = 2;
const FAR_TOKENS = 500;
/** No tokenizer makes so few tokens of a text: mocks and some gateways give a fixed figure, or 0 where they have none. */
const IMPOSSIBLE_FACTOR = 10;

export function rateEstimate(estimated: number, counted: number): EstimateRating {
  if (counted === 0) return { kind: "no_count" };
  if (Math.abs(counted - estimated) <= FAR_TOKENS) return { kind: "near" };
  if (counted > estimated * FAR_FACTOR) return { kind: "too_low" };
  if (estimated > counted * IMPOSSIBLE_FACTOR) return { kind: "no_count" };
  return { kind: estimated > counted * FAR_FACTOR ? "too_high" : "near" };
}
