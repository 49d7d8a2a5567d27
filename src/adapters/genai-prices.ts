import { type ConditionalPrice, calcPrice, type MatchLogic, type ModelInfo } from "@pydantic/genai-prices";
import { canonicalHash } from "../core/canonical-json.ts";
import { assertPricing, type ModelPrice, type Pricing, UNPRICED } from "../core/usage/usage.ts";

/** A model as the AI SDK names it. */
export type PricedModel = { readonly provider: string; readonly modelId: string };

export type FoundPrices = {
  readonly pricing: Pricing;
  /** Model id → the entry of the catalogue that its price comes from: `openai:gpt-5.2`. */
  readonly matched: { readonly [modelId: string]: string };
  /** Models without a price: a budget in dollars refuses them. */
  readonly unpriced: readonly string[];
};

/** The day that the catalogue was taken up. A fixed one: the same version of Pawl must not have other prices tomorrow. */
const AS_OF = "2026-11-16";

/**
 * Prices for these models, out of the catalogue that comes with `@pydantic/genai-prices`; nothing is fetched. They are the
 * most that a token can cost from the day of the catalogue on: the highest tier, the dearest hour, what is announced, input
 * that is written to a cache. What is not sold by the token (searches) is not in them.
 *
 * A model is priced only where the catalogue means just that model at just that provider. Pricing plans go by model id
 * alone: where two providers have the same one, the higher price holds, and one of them without a price leaves it unpriced.
 *
 * @example
 * const { pricing, unpriced } = pricesFor([{ provider: "openai.responses", modelId: "gpt-5.2" }]);
 */
export function pricesFor(models: readonly PricedModel[]): FoundPrices {
  const found = new Map<string, Found[]>();
  const unpriced = new Set<string>();
  for (const model of models) {
    const price = findPrice(model);
    if (price === null) unpriced.add(model.modelId);
    else found.set(model.modelId, [...(found.get(model.modelId) ?? []), price]);
  }
  const priced = [...found].filter(([modelId]) => !unpriced.has(modelId));
  const prices = Object.fromEntries(priced.map(([modelId, all]) => [modelId, highest(all.map(priceOf))]));
  const pricing = priced.length === 0 ? UNPRICED : { id: idOf(prices), models: prices };
  assertPricing(pricing);
  return {
    pricing,
    matched: Object.fromEntries(
      priced.map(([modelId, all]) => [modelId, [...new Set(all.map(({ entry }) => entry))].join(", ")]),
    ),
    unpriced: [...unpriced],
  };
}

/** Part of every fingerprint: a newer catalogue stands in nobody's way, unless the price of one of these models has changed. */
function idOf(prices: Pricing["models"]): string {
  return `genai-prices/${canonicalHash(prices).toString("hex").slice(0, 12)}`;
}

type Found = { readonly entry: string; readonly price: ModelPrice };

const priceOf = ({ price }: Found): ModelPrice => price;

function findPrice(model: PricedModel): Found | null {
  const sold = soldBy(model);
  if (sold === null) return null;
  const { providerId, modelId } = sold;
  // The time picks a price, which is not looked at; it is given so that no clock is read.
  const found = calcPrice({}, modelId, { providerId, timestamp: new Date(AS_OF) });
  if (found === null || !isNamed(found.model.match, modelId.toLowerCase().trim())) return null;
  const price = priceIn(found.model);
  return price === null ? null : { entry: `${found.provider.id}:${found.model.id}`, price };
}

/** The first word of the AI SDK's name of a provider (`openai.responses`) → the catalogue's. */
const PROVIDERS = new Map([
  ["openai", "openai"],
  ["azure", "azure"],
  ["azure-openai", "azure"],
  ["anthropic", "anthropic"],
  ["google", "google"],
  ["vertex", "google"],
  ["bedrock", "aws"],
  ["amazon-bedrock", "aws"],
  ["mistral", "mistral"],
  ["groq", "groq"],
  ["xai", "x-ai"],
  ["deepseek", "deepseek"],
  ["cohere", "cohere"],
  ["perplexity", "perplexity"],
  ["togetherai", "together"],
  ["fireworks", "fireworks"],
  ["cerebras", "cerebras"],
  ["baseten", "baseten"],
  ["moonshotai", "moonshotai"],
  ["openrouter", "openrouter"],
]);

/** A gateway that adds nothing to the price: its model ids begin with whose they are, `openai/gpt-5.2`. */
const GATEWAY = "gateway";

/** Whose price list the model is in, and under which name; null where nobody can tell. */
function soldBy({ provider, modelId }: PricedModel): { providerId: string; modelId: string } | null {
  const [name = ""] = provider.toLowerCase().split(".");
  const slash = modelId.indexOf("/");
  const [seller, sold] =
    name === GATEWAY && slash > 0
      ? [modelId.slice(0, slash).toLowerCase(), modelId.slice(slash + 1)]
      : [name, modelId];
  const providerId = PROVIDERS.get(seller);
  return providerId === undefined || sold.trim() === "" ? null : { providerId, modelId: sold };
}

/** A date or a release: it does not make another model of it. A bare number could: 4 and 4.5 are not the same. */
const PART = String.raw`(?:20\d{6}|20\d{2}-\d{2}-\d{2}|\d{2}-20\d{2}|\d{2}-\d{2}|\d{3,4}|latest|preview|exp|beta|v\d)`;
const RELEASE = new RegExp(`^${PART}?(?:[-@:.]${PART}|:\\d)*$`);

/** Where a model is served from, and whose it is. */
const ORIGIN =
  /^(?:models\/)?(?:(?:us|us-gov|eu|apac|ap|jp|au|ca|in|sa|global)\.)?(?:(?:amazon|anthropic|cohere|deepseek|google|meta|mistral|moonshot|nvidia|openai|qwen|writer)[./])?$/;

/**
 * Whether the rule that was met means this very model. The catalogue's rules are loose, so that `gpt-5-nano-mock` is a
 * `gpt-5-nano`: what they leave open may only be a date, a release or a region.
 */
function isNamed(match: MatchLogic, modelId: string): boolean {
  if ("or" in match) return match.or.some((each) => isNamed(each, modelId));
  if ("and" in match) return match.and.every((each) => isNamed(each, modelId));
  if ("equals" in match) return modelId === match.equals.toLowerCase();
  if ("regex" in match) return new RegExp(match.regex, "i").test(modelId);
  const text = (
    "starts_with" in match ? match.starts_with : "ends_with" in match ? match.ends_with : match.contains
  ).toLowerCase();
  const at = "ends_with" in match ? modelId.lastIndexOf(text) : modelId.indexOf(text);
  if (at < 0) return false;
  return ORIGIN.test(modelId.slice(0, at)) && RELEASE.test(modelId.slice(at + text.length));
}

type PriceList = ConditionalPrice["prices"];

/** Null where tokens are not all that is paid for: a figure that is too low is worse than none. */
function priceIn(model: ModelInfo): ModelPrice | null {
  const prices = (Array.isArray(model.prices) ? stillHolding(model.prices) : [model.prices]).map(perToken);
  const known = prices.filter((price) => price !== null);
  return known.length < prices.length ? null : highest(known);
}

/** The newest price of that day, what is announced for later, and what holds at some hours only. */
function stillHolding(prices: readonly ConditionalPrice[]): PriceList[] {
  const newest = prices.findLastIndex(
    ({ constraint }) =>
      constraint === undefined || (constraint.type === "start_date" && constraint.start_date <= AS_OF),
  );
  return prices.slice(Math.max(newest, 0)).map((each) => each.prices);
}

function perToken(prices: PriceList): ModelPrice | null {
  // Usage has no figure for what a provider writes to its cache, so all input may be that.
  const input = most(prices.input_mtok, prices.cache_write_mtok);
  const output = most(prices.output_mtok, prices.output_reasoning_mtok);
  const cached = most(prices.cache_read_mtok);
  if (prices.input_mtok === undefined || prices.output_mtok === undefined || input === 0 || output === 0)
    return null;
  if (prices.requests_kcount !== undefined) return null;
  return {
    inputPerMillion: input,
    ...(prices.cache_read_mtok === undefined ? {} : { cachedInputPerMillion: cached }),
    outputPerMillion: output,
  };
}

/** The highest of these prices and their tiers, in whole micro-dollars for a million tokens. */
function most(...prices: readonly PriceList[string][]): number {
  const dollars = prices.flatMap((price) => {
    if (price === undefined) return [];
    return typeof price === "number" ? [price] : [price.base, ...price.tiers.map((tier) => tier.price)];
  });
  // 0.0158 dollars are 15800.000000000002 micro-dollars: what arithmetic adds is not rounded up.
  return Math.ceil(Number((Math.max(0, ...dollars) * 1_000_000).toPrecision(12)));
}

/** Field by field. A price without a discount for cached input has none of the others' either. */
function highest(prices: readonly ModelPrice[]): ModelPrice {
  const cached = prices.map((price) => price.cachedInputPerMillion ?? price.inputPerMillion);
  const hasDiscount = prices.some((price) => price.cachedInputPerMillion !== undefined);
  return {
    inputPerMillion: Math.max(...prices.map((price) => price.inputPerMillion)),
    ...(hasDiscount ? { cachedInputPerMillion: Math.max(...cached) } : {}),
    outputPerMillion: Math.max(...prices.map((price) => price.outputPerMillion)),
  };
}
