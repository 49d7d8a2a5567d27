import { type ConditionalPrice, calcPrice, type MatchLogic, type ModelInfo } from "@pydantic/genai-prices";
import { canonicalHash } from "../core/canonical-json.ts";
import { assertPricing, type ModelPrice, type Pricing, UNPRICED } from "../core/usage/usage.ts";

/** A model as the AI SDK names it. */
export type PricedModel = { readonly provider: string; readonly modelId: string };

/** The result of `pricesFor`. */
export type FoundPrices = {
  readonly pricing: Pricing;
  /** Model id → the catalogue entry that its price is from: `openai:gpt-5.2`. */
  readonly matched: { readonly [modelId: string]: string };
  /** Models without a price. A budget in dollars refuses them. */
  readonly unpriced: readonly string[];
};

/** The day of the catalogue. It is fixed, so that one version of Pawl does not have other prices tomorrow. */
const AS_OF = "2026-11-16";

/**
 * Prices for these models, from the catalogue in `@pydantic/genai-prices`; nothing is fetched. Each is the most that a token
 * can cost from the day of the catalogue on: the highest tier, the most expensive hour, announced prices, input written to a
 * cache. Services that are not sold by the token (searches) are not included.
 *
 * A model is priced only if the catalogue has exactly that model at exactly that provider. A `Pricing` is keyed by model id
 * alone: if two providers have the same id, the higher price is used, and if one of them has no price, the model is unpriced.
 *
 * @example
 * const { pricing, unpriced } = pricesFor([{ provider: "openai.responses", modelId: "gpt-5.2" }]);
 */
export function pricesFor(models: readonly PricedModel[]): FoundPrices {
  const found = new Map<string, CataloguePrice[]>();
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

/** Part of every fingerprint, so a hash of these prices only: a newer catalogue breaks no run whose prices are the same. */
function idOf(prices: Pricing["models"]): string {
  return `genai-prices/${canonicalHash(prices).toString("hex").slice(0, 12)}`;
}

type CataloguePrice = { readonly entry: string; readonly price: ModelPrice };

const priceOf = ({ price }: CataloguePrice): ModelPrice => price;

function findPrice(model: PricedModel): CataloguePrice | null {
  const sold = soldBy(model);
  if (sold === null) return null;
  const { providerId, modelId } = sold;
  // The timestamp picks a price that is not used here; it is passed so that no clock is read.
  const found = calcPrice({}, modelId, { providerId, timestamp: new Date(AS_OF) });
  if (found === null || !isNamed(found.model.match, modelId.toLowerCase().trim())) return null;
  const price = priceIn(found.model);
  return price === null ? null : { entry: `${found.provider.id}:${found.model.id}`, price };
}

/** The first part of the AI SDK's provider name (`openai.responses`) → the catalogue's provider id. */
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

/** A gateway that adds nothing to the price: its model ids begin with the provider, `openai/gpt-5.2`. */
const GATEWAY = "gateway";

/** The provider and model id to look the price up by; null if they cannot be determined. */
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

/** A date or a release, which does not make it another model. A bare number could: 4 and 4.5 are not the same. */
const PART = String.raw`(?:20\d{6}|20\d{2}-\d{2}-\d{2}|\d{2}-20\d{2}|\d{2}-\d{2}|\d{3,4}|latest|preview|exp|beta|v\d)`;
const RELEASE = new RegExp(`^${PART}?(?:[-@:.]${PART}|:\\d)*$`);

/** The region and vendor in front of a model name. */
const ORIGIN =
  /^(?:models\/)?(?:(?:us|us-gov|eu|apac|ap|jp|au|ca|in|sa|global)\.)?(?:(?:amazon|anthropic|cohere|deepseek|google|meta|mistral|moonshot|nvidia|openai|qwen|writer)[./])?$/;

/**
 * True if the matching rule means exactly this model. The catalogue's rules are loose: to them `gpt-5-nano-mock` is a
 * `gpt-5-nano`. Here the part that a rule leaves open may only be a date, a release or a region.
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

/** Null if more than tokens is paid for: a price that is too low is worse than none. */
function priceIn(model: ModelInfo): ModelPrice | null {
  const prices = (Array.isArray(model.prices) ? stillHolding(model.prices) : [model.prices]).map(perToken);
  const known = prices.filter((price) => price !== null);
  return known.length < prices.length ? null : highest(known);
}

/** The price in force on that day, announced later prices, and prices for certain hours. */
function stillHolding(prices: readonly ConditionalPrice[]): PriceList[] {
  const newest = prices.findLastIndex(
    ({ constraint }) =>
      constraint === undefined || (constraint.type === "start_date" && constraint.start_date <= AS_OF),
  );
  return prices.slice(Math.max(newest, 0)).map((each) => each.prices);
}

function perToken(prices: PriceList): ModelPrice | null {
  // Usage does not report how much a provider writes to its cache, so all input may be that.
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
  // 0.0158 dollars are 15800.000000000002 micro-dollars: the error of floating point is not rounded up.
  return Math.ceil(Number((Math.max(0, ...dollars) * 1_000_000).toPrecision(12)));
}

/** The highest of each field. A price without a cached-input discount counts with its full input price. */
function highest(prices: readonly ModelPrice[]): ModelPrice {
  const cached = prices.map((price) => price.cachedInputPerMillion ?? price.inputPerMillion);
  const hasDiscount = prices.some((price) => price.cachedInputPerMillion !== undefined);
  return {
    inputPerMillion: Math.max(...prices.map((price) => price.inputPerMillion)),
    ...(hasDiscount ? { cachedInputPerMillion: Math.max(...cached) } : {}),
    outputPerMillion: Math.max(...prices.map((price) => price.outputPerMillion)),
  };
}
