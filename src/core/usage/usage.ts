import { ConfigurationError } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { ownProperty } from "../own-property.ts";

/** The usage that a provider reported. Integers; a figure that was not reported is 0. */
export type Usage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
};

/** Usage as reported, not validated yet. */
export type ReportedUsage = { readonly [F in keyof Usage]?: unknown };

/**
 * More than any model call uses, in tokens or in micro-dollars ($8,590): a larger figure is an error. A million calls of
 * this size still have an exact sum.
 */
const MAX_CALL_FIGURE = 2 ** 33;

/**
 * The reported usage, if it can be true; null if there is none. A call without figures is charged its whole reservation, so
 * a missing figure must not pass for a small one. No request has 0 tokens, and no answer with content (`hasContent`) has:
 * adapters fill in these zeros for figures that the provider left out. Cached and reasoning tokens are parts of the others,
 * and 0 if they are left out.
 */
export function usageOf(
  reported: ReportedUsage | null,
  { hasContent }: { readonly hasContent: boolean },
): Usage | null {
  if (typeof reported !== "object" || reported === null) return null;
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = reported;
  const usage = {
    inputTokens: tokenCount(inputTokens, 1),
    outputTokens: tokenCount(outputTokens, hasContent ? 1 : 0),
    cachedInputTokens: tokenCount(cachedInputTokens ?? 0, 0),
    reasoningTokens: tokenCount(reasoningTokens ?? 0, 0),
  };
  return isWhole(usage) ? usage : null;
}

type Counted = { readonly [F in keyof Usage]: number | null };

function tokenCount(figure: unknown, least: number): number | null {
  const isCount =
    Number.isSafeInteger(figure) && Number(figure) >= least && Number(figure) <= MAX_CALL_FIGURE;
  return isCount ? Number(figure) : null;
}

function isWhole(usage: Counted): usage is Usage {
  return Object.values(usage).every((figure) => figure !== null);
}

/** An amount to reserve or charge: tokens, and micro-dollars (millionths of a dollar), so that sums are exact. */
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

/** Micro-dollars per million tokens: the same figure as dollars per million million. */
export type ModelPrice = {
  readonly inputPerMillion: number;
  readonly cachedInputPerMillion?: number;
  readonly outputPerMillion: number;
};

/** A pricing plan. Its id is part of every fingerprint: a run keeps the prices that it began with. */
export type Pricing = { readonly id: string; readonly models: { readonly [modelId: string]: ModelPrice } };

export const UNPRICED: Pricing = { id: "unpriced", models: {} };

export function priceOfModel(pricing: Pricing, modelId: string): ModelPrice | undefined {
  return ownProperty(pricing.models, modelId);
}

/** The cost of usage. A model without a price is charged in tokens only. Rounded up: never less than the actual cost. */
export function amountOf(usage: Usage, modelId: string, pricing: Pricing): Amount {
  const price = priceOfModel(pricing, modelId);
  const tokens = usage.inputTokens + usage.outputTokens;
  if (price === undefined) return { tokens, microDollars: 0 };
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const dollarsTimesTokens =
    (usage.inputTokens - cached) * price.inputPerMillion +
    cached * (price.cachedInputPerMillion ?? price.inputPerMillion) +
    usage.outputTokens * price.outputPerMillion;
  return { tokens, microDollars: Math.ceil(dollarsTimesTokens / 1_000_000) };
}

/** Prices are whole micro-dollars per million tokens; fractions would make sums inexact. */
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
      `The price of ${model} in pricing plan "${plan}" has the unknown field ${unknown}: use ${Object.keys(PRICES).join(", ")}.`,
    );
  for (const [field, need] of Object.entries(PRICES)) {
    const value = given[field];
    if (value === undefined && need === "optional") continue;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) continue;
    throw new ConfigurationError(
      `The price ${field} of ${model} in pricing plan "${plan}" is ${String(value)}: give whole micro-dollars per million tokens ($2.50 is 2500000).`,
    );
  }
}

/** The basis of a charge: the provider's figures, the whole reservation, or nothing. */
export type ChargeBasis = "provider" | "baseline" | "none";

/** How a model call ended, as far as this process can know. */
export type ModelCallEnd =
  | { readonly kind: "answered"; readonly usage: Usage | null }
  | { readonly kind: "rejected" }
  | { readonly kind: "not_sent" }
  | { readonly kind: "unanswered" };

type ModelCallCharge = { readonly basis: ChargeBasis; readonly amount: Amount; readonly usage: Usage };

/**
 * The charge for a model call. If the provider answered, by its figures; if it refused or was never reached, nothing; if the
 * outcome is unknown, the whole reservation, since the provider may have produced an answer.
 */
export function chargeFor(
  end: ModelCallEnd,
  reserved: Amount,
  price: (usage: Usage) => Amount,
): ModelCallCharge {
  switch (end.kind) {
    case "answered":
      return chargeForAnswer(end.usage, reserved, price);
    case "rejected":
    case "not_sent":
      return { basis: "none", amount: NOTHING, usage: NO_USAGE };
    case "unanswered":
      return { basis: "baseline", amount: reserved, usage: NO_USAGE };
  }
}

/** Figures with an impossibly high price count as none. */
function chargeForAnswer(
  usage: Usage | null,
  reserved: Amount,
  price: (usage: Usage) => Amount,
): ModelCallCharge {
  const amount = usage === null ? null : price(usage);
  const isPossible = amount !== null && amount.microDollars <= MAX_CALL_FIGURE;
  return usage === null || !isPossible
    ? { basis: "baseline", amount: reserved, usage: NO_USAGE }
    : { basis: "provider", amount, usage };
}
