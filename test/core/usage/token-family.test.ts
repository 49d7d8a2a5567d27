import { describe, expect, it } from "vitest";
import { estimateTokens } from "../../../src/core/usage/token-estimate.ts";
import { TOKENS_PER_HUNDRED, tokenFamily } from "../../../src/core/usage/token-family.ts";
import { SAMPLES } from "./token-samples.ts";

const named = (modelId: string) => ({ provider: "any", modelId });

describe("the family of a model", () => {
  it.each([
    ["gpt-5.2", "o200k"],
    ["gpt-4o-mini", "o200k"],
    ["gpt-4.1", "o200k"],
    ["o3-mini", "o200k"],
    ["openai/o4-mini", "o200k"],
    ["gpt-4-turbo", "cl100k"],
    ["gpt-3.5-turbo", "cl100k"],
    ["claude-sonnet-4-5", "claude"],
    ["anthropic/claude-opus-4.8", "claude"],
    ["us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude"],
    ["gemini-3-pro", "gemini"],
    ["meta-llama/Llama-3.3-70B-Instruct", "llama-3"],
    ["llama-2-70b-chat", "sentencepiece"],
    ["mistral-large-latest", "sentencepiece"],
    ["qwen3-32b", "other"],
    ["scripted-model", "other"],
    ["proto3-1b", "other"],
  ])("%s is %s", (modelId, family) => {
    expect(tokenFamily(named(modelId))).toBe(family);
  });
});

describe("estimateTokens for a model", () => {
  it.each(Object.entries(TOKENS_PER_HUNDRED))(
    "counts %s as %i for every hundred, and in whole tokens",
    (family, factor) => {
      const modelId = ["gpt-5", "gpt-4", "claude", "gemini", "llama-3", "mistral", "else"].find(
        (id) => tokenFamily(named(id)) === family,
      );
      const text = Object.values(SAMPLES).join("\n");
      const estimate = estimateTokens(text, named(modelId ?? ""));
      expect(estimate).toBe(Math.ceil((estimateTokens(text) * factor) / 100));
    },
  );

  it("counts megabytes of white space, which a model does not read for free", () => {
    expect(estimateTokens(" ".repeat(1_000_000))).toBeGreaterThan(10_000);
    expect(estimateTokens(`a${" ".repeat(20)}b`)).toBe(2);
  });
});
