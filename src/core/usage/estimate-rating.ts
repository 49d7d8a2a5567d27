/** How well the estimate of a request's tokens fits the provider's count. */
export type EstimateRating = {
  /** `no_count`: the provider's figure cannot be a count of this request. */
  readonly kind: "near" | "too_low" | "too_high" | "no_count";
};

/** An estimate is a guess: only half or twice the count is worth a warning, and only above a few sentences. */
const FAR_FACTOR = 2;
const FAR_TOKENS = 500;
/** No tokenizer makes so few tokens of a text: mocks and some gateways report a fixed figure, or 0 if they have none. */
const IMPOSSIBLE_FACTOR = 10;

export function rateEstimate(estimated: number, counted: number): EstimateRating {
  if (counted === 0) return { kind: "no_count" };
  if (Math.abs(counted - estimated) <= FAR_TOKENS) return { kind: "near" };
  if (counted > estimated * FAR_FACTOR) return { kind: "too_low" };
  if (estimated > counted * IMPOSSIBLE_FACTOR) return { kind: "no_count" };
  return { kind: estimated > counted * FAR_FACTOR ? "too_high" : "near" };
}
