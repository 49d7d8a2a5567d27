import { type ModelInfo, type Provider, updatePrices, waitForUpdate } from "@pydantic/genai-prices";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { pricesFor } from "../../src/adapters/genai-prices.ts";
import { amountOf, assertPricing } from "../../src/core/usage/usage.ts";
import { scriptedModel } from "../../src/testing/index.ts";

const price = (provider: string, modelId: string) =>
  pricesFor([{ provider, modelId }]).pricing.models[modelId];

const match = (provider: string, modelId: string) => pricesFor([{ provider, modelId }]).matched[modelId];

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("prices from the catalogue", () => {
  it("are whole micro-dollars per million tokens", () => {
    expect(price("openai.responses", "gpt-5.2")).toEqual({
      inputPerMillion: 1_750_000,
      cachedInputPerMillion: 175_000,
      outputPerMillion: 14_000_000,
    });
    const { pricing } = pricesFor([{ provider: "openai.responses", modelId: "gpt-5.2" }]);
    const usage = { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 0, reasoningTokens: 0 };
    expect(amountOf(usage, "gpt-5.2", pricing)).toEqual({ tokens: 1_100, microDollars: 3_150 });
  });

  it("are those of the highest tier, since that is what must be reserved", () => {
    expect(price("google.generative-ai", "gemini-2.5-pro")).toEqual({
      inputPerMillion: 2_500_000,
      cachedInputPerMillion: 250_000,
      outputPerMillion: 15_000_000,
    });
  });

  it("count input as written to the provider's cache if that costs more", () => {
    expect(price("anthropic.messages", "claude-opus-4-7")).toEqual({
      inputPerMillion: 6_250_000,
      cachedInputPerMillion: 500_000,
      outputPerMillion: 25_000_000,
    });
  });

  it("are those since the last change, not the earlier ones", () => {
    expect(price("openai.chat", "o3")).toMatchObject({
      inputPerMillion: 2_000_000,
      outputPerMillion: 8_000_000,
    });
  });

  it("are the announced ones if they are higher", () => {
    expect(price("google.generative-ai", "gemini-3.6-flash")).toMatchObject({
      inputPerMillion: 1_500_000,
      outputPerMillion: 7_500_000,
    });
  });

  it("are those of the most expensive hour of the day", () => {
    expect(price("deepseek.chat", "deepseek-v4-pro")).toMatchObject({
      inputPerMillion: 1_320_000,
      outputPerMillion: 3_960_000,
    });
  });

  it.each(["2020-01-01T00:00:00Z", "2026-11-16T02:00:00Z", "2031-06-01T12:00:00Z"])(
    "do not depend on the current date: %s",
    (now) => {
      const models = [
        { provider: "openai.chat", modelId: "o3" },
        { provider: "google.generative-ai", modelId: "gemini-3.6-flash" },
        { provider: "deepseek.chat", modelId: "deepseek-v4-pro" },
      ];
      const today = pricesFor(models);
      vi.useFakeTimers({ now: new Date(now) });
      expect(pricesFor(models)).toEqual(today);
    },
  );

  it("have an id that changes with every price, also beside other models", () => {
    const idOf = (...ids: string[]) =>
      pricesFor(ids.map((modelId) => ({ provider: "openai.chat", modelId }))).pricing.id;
    expect(idOf("gpt-5.2")).toMatch(/^genai-prices\/[0-9a-f]{12}$/);
    expect(idOf("gpt-5.2", "my-own-model")).toBe(idOf("gpt-5.2"));
    expect(idOf("o3")).not.toBe(idOf("gpt-5.2"));
    expect(pricesFor([]).pricing).toEqual({ id: "unpriced", models: {} });
  });

  it("need no network", () => {
    const fetched = vi.fn<typeof fetch>();
    vi.stubGlobal("fetch", fetched);
    expect(price("openai.chat", "gpt-5.2")).toBeDefined();
    expect(fetched).not.toHaveBeenCalled();
  });
});

describe("the catalogue entry of a model", () => {
  it.each([
    ["openai.responses", "gpt-5.2", "openai:gpt-5.2"],
    ["openai.chat", "gpt-4o-mini-2024-07-18", "openai:gpt-4o-mini"],
    ["openai.chat", "gpt-5-codex", "openai:gpt-5"],
    ["OpenAI.Chat", "GPT-4.1", "openai:gpt-4.1"],
    ["azure.chat", "gpt-4o", "azure:gpt-4o"],
    ["azure-openai.chat", "o3", "azure:o3-2025-04-16"],
    ["anthropic.messages", "claude-sonnet-4-5-20250929", "anthropic:claude-sonnet-4-5"],
    ["anthropic.messages", "claude-sonnet-4-20250514", "anthropic:claude-sonnet-4-0"],
    ["anthropic.messages", "claude-3-5-sonnet-latest", "anthropic:claude-3-5-sonnet"],
    ["google.generative-ai", "gemini-2.5-pro-preview-05-06", "google:gemini-2.5-pro"],
    ["google.vertex.chat", "gemini-2.5-flash", "google:gemini-2.5-flash"],
    ["vertex.anthropic.messages", "claude-sonnet-4-5@20250929", "google:claude-sonnet-4-5"],
    [
      "bedrock",
      "anthropic.claude-3-5-sonnet-20241022-v2:0",
      "aws:regional.anthropic.claude-3-5-sonnet-20241022-v2:0",
    ],
    [
      "amazon-bedrock",
      "us.anthropic.claude-sonnet-4-20250514-v1:0",
      "aws:regional.anthropic.claude-sonnet-4-20250514-v1:0",
    ],
    ["amazon-bedrock", "amazon.titan-text-express-v1", "aws:amazon.titan-text-express-v1"],
    ["mistral.chat", "mistral-large-latest", "mistral:mistral-large"],
    ["xai.responses", "grok-4", "x-ai:grok-4-0709"],
    ["groq.chat", "llama-3.3-70b-versatile", "groq:llama-3.3-70b-versatile"],
    [
      "togetherai.chat",
      "meta-llama/Llama-3.3-70B-Instruct-Turbo",
      "together:meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ],
    ["openrouter.chat", "anthropic/claude-sonnet-4.5", "openrouter:anthropic/claude-sonnet-4.5"],
    ["gateway", "openai/gpt-5.2", "openai:gpt-5.2"],
    ["gateway", "anthropic/claude-sonnet-4.5", "anthropic:claude-sonnet-4-5"],
    ["gateway", "xai/grok-4", "x-ai:grok-4-0709"],
  ])("%s %s is %s", (provider, modelId, entry) => {
    expect(match(provider, modelId)).toBe(entry);
    expect(price(provider, modelId)?.outputPerMillion).toBeGreaterThan(0);
  });
});

describe("a model without a price", () => {
  it.each([
    ["a scripted one", scriptedModel([]).provider, scriptedModel([]).modelId],
    ["a mock", "mock-provider", "mock-model-id"],
    ["one without a name", "openai.chat", ""],
    ["one with nothing but spaces for a name", "openai.chat", "  "],
    ["one of a provider without a name", "", "gpt-5.2"],
    ["a known name at an unknown provider", "my-proxy.chat", "gpt-5.2"],
    ["one that does not exist yet", "openai.responses", "gpt-99"],
    ["a name that merely begins like another", "openai.chat", "gpt-5-nano-mock"],
    ["the next version of one that is known", "anthropic.messages", "claude-sonnet-5-5"],
    ["one that merely has a known name in it", "azure.chat", "prod-o4-mini-eu"],
    ["a fine-tuned one", "openai.chat", "ft:gpt-4o-2024-08-06:acme::abc123"],
    ["one without a published price", "google.generative-ai", "gemma-3-27b-it"],
    ["one without output tokens", "openai.chat", "text-embedding-3-large"],
    ["one with a fee per request", "perplexity", "sonar"],
    ["the key of an object", "openai.chat", "constructor"],
    ["the prototype of an object", "openai.chat", "__proto__"],
    ["a gateway id without a provider", "gateway", "gpt-5.2"],
    ["a gateway id of an unknown provider", "gateway", "acme/gpt-5.2"],
  ])("%s is unpriced, not free: %s %s", (_, provider, modelId) => {
    const { pricing, matched, unpriced } = pricesFor([{ provider, modelId }]);
    expect(unpriced).toEqual([modelId]);
    expect(Object.keys(pricing.models)).toEqual([]);
    expect(Object.keys(matched)).toEqual([]);
  });

  it("does not affect the prices of others", () => {
    const found = pricesFor([
      { provider: "openai.chat", modelId: "gpt-5.2" },
      { provider: "scripted", modelId: "scripted-model" },
      { provider: "scripted", modelId: "scripted-model" },
    ]);
    expect(Object.keys(found.pricing.models)).toEqual(["gpt-5.2"]);
    expect(found.unpriced).toEqual(["scripted-model"]);
  });
});

describe("one model id at several providers", () => {
  it("has the higher price, field by field", () => {
    const { pricing, matched } = pricesFor([
      { provider: "openai.chat", modelId: "o4-mini" },
      { provider: "azure.chat", modelId: "o4-mini" },
    ]);
    expect(matched).toEqual({ "o4-mini": "openai:o4-mini, azure:o4-mini" });
    expect(price("openai.chat", "o4-mini")?.cachedInputPerMillion).toBe(275_000);
    expect(pricing.models["o4-mini"]?.cachedInputPerMillion).toBe(280_000);
  });

  it("has the discount for cached input only as far as each of them has one", () => {
    const modelId = "openai/gpt-oss-120b";
    expect(price("baseten.chat", modelId)).toEqual({ inputPerMillion: 100_000, outputPerMillion: 500_000 });
    expect(price("groq.chat", modelId)?.cachedInputPerMillion).toBe(75_000);
    const { pricing } = pricesFor([
      { provider: "groq.chat", modelId },
      { provider: "baseten.chat", modelId },
    ]);
    expect(pricing.models[modelId]).toEqual({
      inputPerMillion: 150_000,
      cachedInputPerMillion: 100_000,
      outputPerMillion: 600_000,
    });
  });

  it.each([[["openai.chat", "my-proxy.chat"]], [["my-proxy.chat", "openai.chat"]]])(
    "is unpriced if one of them is: %s",
    (providers) => {
      const found = pricesFor(providers.map((provider) => ({ provider, modelId: "gpt-5.2" })));
      expect(found).toEqual({
        pricing: { id: found.pricing.id, models: {} },
        matched: {},
        unpriced: ["gpt-5.2"],
      });
    },
  );
});

describe("prices of kinds that this catalogue does not have", () => {
  const priced = async (prices: ModelInfo["prices"]) => {
    await listPrices(prices);
    return price("openai.chat", "made-up");
  };

  it("are rounded up, but not for floating-point errors", async () => {
    expect(0.0158 * 1_000_000).toBeGreaterThan(15_800);
    expect(await priced({ input_mtok: 0.0158, cache_read_mtok: 0.0157, output_mtok: 0.000_001_2 })).toEqual({
      inputPerMillion: 15_800,
      cachedInputPerMillion: 15_700,
      outputPerMillion: 2,
    });
  });

  it("do not fall before the announced day", async () => {
    const now = { input_mtok: 3, output_mtok: 9 };
    const later = { input_mtok: 1, output_mtok: 10 };
    const constraint = { type: "start_date", start_date: "2099-01-01" } as const;
    expect(await priced([{ prices: now }, { constraint, prices: later }])).toEqual({
      inputPerMillion: 3_000_000,
      outputPerMillion: 10_000_000,
    });
  });

  it("are unknown if one that may apply is unknown", async () => {
    const constraint = { type: "time_of_date", start_time: "00:00:00Z", end_time: "06:00:00Z" } as const;
    expect(await priced([{ prices: { input_mtok: 3, output_mtok: 9 } }, { constraint, prices: {} }])).toBe(
      undefined,
    );
  });

  it("are unknown if they are zero", async () => {
    expect(await priced({ input_mtok: 0, output_mtok: 0 })).toBe(undefined);
    expect(await priced({ input_mtok: 0, output_mtok: 1 })).toBe(undefined);
  });

  it("count output as reasoning if that costs more", async () => {
    const prices = { input_mtok: 1, output_mtok: 2, output_reasoning_mtok: 5 };
    expect((await priced(prices))?.outputPerMillion).toBe(5_000_000);
  });
});

/** A catalogue with one model, until the test ends. */
async function listPrices(prices: ModelInfo["prices"]): Promise<void> {
  const bundled = await waitForUpdate();
  const list = (providers: Provider[] | null) =>
    updatePrices(({ setProviderData }) => setProviderData(providers));
  onTestFinished(() => list(bundled));
  const models = [{ id: "made-up", match: { equals: "made-up" }, prices }];
  list([{ id: "openai", name: "OpenAI", api_pattern: "-", models }]);
}

it("handles a very long name quickly", () => {
  const { unpriced, pricing } = pricesFor([
    { provider: "anthropic.messages", modelId: `claude-sonnet-4-5-${"0000".repeat(5_000)}x` },
  ]);
  expect(unpriced).toHaveLength(1);
  assertPricing(pricing);
});
