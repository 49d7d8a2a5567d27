import { ConfigurationError } from "./errors.ts";
import { isJsonObject } from "./json.ts";

/** What a provider said it used. Integers; a figure that was not given is 0. */
export type Usage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
};

/** What is reserved and charged: tokens, and micro-dollars (a millionth of a dollar), so that sums are exact. */
export type Amount = { readonly tokens: number; readonly microDollars: number };

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
export const NOTHING: Amount = { tokens: 0, microDollars: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

export function addAmount(a: Amount, b: Amount): Amount {
  return { tokens: a.tokens + b.tokens, microDollars: a.microDollars + b.microDollars };
}

/** Micro-dollars for a million tokens, which is the same figure as dollars for a million million. */
export type ModelPrice = {
  readonly inputPerMillion: number;
  readonly cachedInputPerMillion?: number;
  readonly outputPerMillion: number;
};

/** A pricing plan. Its id is part of every fingerprint: a run keeps the prices it began with. */
export type Pricing = { readonly id: string; readonly models: { readonly [modelId: string]: ModelPrice } };

export const UNPRICED: Pricing = { id: "unpriced", models: {} };

/** What usage costs. A model without a price is charged in tokens alone. Rounded up: never less than the truth. */
export function amountOf(usage: Usage, modelId: string, pricing: Pricing): Amount {
  const price = pricing.models[modelId];
  const tokens = usage.inputTokens + usage.outputTokens;
  if (price === undefined) return { tokens, microDollars: 0 };
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const dollarsTimesTokens =
    (usage.inputTokens - cached) * price.inputPerMillion +
    cached * (price.cachedInputPerMillion ?? price.inputPerMillion) +
    usage.outputTokens * price.outputPerMillion;
  return { tokens, microDollars: Math.ceil(dollarsTimesTokens / 1_000_000) };
}

/** Prices are whole micro-dollars for a million tokens; anything else would make sums inexact. */
export function assertPricing(pricing: unknown): asserts pricing is Pricing {
  if (!isJsonObject(pricing) || typeof pricing.id !== "string" || !isJsonObject(pricing.models))
    throw new ConfigurationError(
      'pricing is no pricing plan: give one with an id and models, `{ id: "2026-11", models: { "gpt-5.2": { inputPerMillion: 1_750_000, outputPerMillion: 14_000_000 } } }`.',
    );
  for (const [model, price] of Object.entries(pricing.models)) assertPrice(pricing.id, model, price);
}

const PRICES: { readonly [F in keyof Required<ModelPrice>]: "needed" | "optional" } = {
  inputPerMillion: "needed",
  cachedInputPerMillion: "optional",
  outputPerMillion: "needed",
};

function assertPrice(plan: string, model: string, price: unknown): void {
  const given: { readonly [field: string]: unknown } = isJsonObject(price) ? price : {};
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(PRICES, field));
  if (unknown !== undefined)
    throw new ConfigurationError(
      `The price of ${model} in pricing plan "${plan}" has no ${unknown}: give ${Object.keys(PRICES).join(", ")}.`,
    );
  for (const [field, need] of Object.entries(PRICES)) {
    const value = given[field];
    if (value === undefined && need === "optional") continue;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) continue;
    throw new ConfigurationError(
      `The price ${field} of ${model} in pricing plan "${plan}" is ${String(value)}: give whole micro-dollars for a million tokens ($2.50 is 2500000).`,
    );
  }
}

/** How a model call was charged, and why. */
export type ChargeBasis = "provider" | "baseline" | "none";

/** How a model call ended, as far as anybody here can know. */
export type ModelCallEnd =
  | { readonly kind: "answered"; readonly usage: Usage | null }
  | { readonly kind: "rejected" }
  | { readonly kind: "not_sent" }
  | { readonly kind: "unanswered" };

/**
 * What is charged for a model call. Where the provider answered, its figures; where it refused or was never
 * reached, nothing; where nobody knows, the whole reservation: what the provider produced is not free.
 */
export function chargeFor(
  end: ModelCallEnd,
  reserved: Amount,
  price: (usage: Usage) => Amount,
): { readonly basis: ChargeBasis; readonly amount: Amount; readonly usage: Usage } {
  switch (end.kind) {
    case "answered":
      return end.usage === null
        ? { basis: "baseline", amount: reserved, usage: NO_USAGE }
        : { basis: "provider", amount: price(end.usage), usage: end.usage };
    case "rejected":
    case "not_sent":
      return { basis: "none", amount: NOTHING, usage: NO_USAGE };
    case "unanswered":
      return { basis: "baseline", amount: reserved, usage: NO_USAGE };
  }
}
