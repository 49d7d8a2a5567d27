// Usage figures that cannot be true, with the real provider against a server that misreports.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { NO_USAGE, type Usage } from "../../../src/core/usage/usage.ts";
import {
  agent,
  type JsonObject,
  type ModelResponse,
  QuotaExceededError,
  Runner,
  type RunnerOptions,
  type Store,
  tool,
} from "../../../src/index.ts";
import { answer, FakeOpenAiServer } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { failureAs, memoryStore, must, sleeplessClock } from "../run-fixture.ts";

let server: FakeOpenAiServer;
let store: Store;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
  store = await memoryStore();
});

afterEach(() => server.close());

const look = tool({
  description: "Looks.",
  inputSchema: z.object({}),
  effect: "read_only",
  execute: () => "seen",
});

function runnerOf(options: RunnerOptions = {}) {
  const worker = agent({
    name: "worker",
    model: openAiModel(server.baseUrl),
    settings: { maxOutputTokens: 300 },
    tools: { look },
  });
  return new Runner(worker, { store, clock: sleeplessClock(), random: () => 0, ...options });
}

/** Each attempt at the model: the basis of its charge, and how much of its reservation was charged. */
async function attempts() {
  return (await store.listModelCalls("r-1")).map(({ attempt, charge, reserved }) => {
    const whole = charge?.amount.tokens === reserved.tokens;
    return [attempt, charge?.basis, whole ? "all of it" : charge?.amount.tokens];
  });
}

async function charged(): Promise<number> {
  return must(await store.getRun("r-1")).charged.tokens;
}

function usageWith(more: JsonObject): JsonObject {
  return { prompt_tokens: 20, completion_tokens: 9, ...more };
}

describe("a provider's usage", () => {
  it.each<[string, JsonObject]>([
    ["an empty object", {}],
    ["a total and nothing else", { total_tokens: 11 }],
    ["input tokens without output tokens", { prompt_tokens: 11 }],
    ["output tokens without input tokens", { completion_tokens: 11 }],
    ["a negative figure", { prompt_tokens: -20, completion_tokens: 9 }],
    ["negative cached tokens", usageWith({ prompt_tokens_details: { cached_tokens: -8 } })],
    ["half a token", { prompt_tokens: 20.5, completion_tokens: 9 }],
    ["more than a safe integer", { prompt_tokens: 9e15, completion_tokens: 9e15 }],
    ["more than any model can use", { prompt_tokens: 9e15, completion_tokens: 9 }],
    ["more than a safe price", { prompt_tokens: 8e9, completion_tokens: 8e9 }],
  ])("%s is charged with the reservation, each time, and requested once per turn", async (_, usage) => {
    const pricing = { id: "p", models: { "fake-model": { inputPerMillion: 2, outputPerMillion: 2 ** 50 } } };
    const call = { name: "look", arguments: {} };
    server.next(answer({ toolCalls: [call], usage }), answer({ text: "Done.", usage }));

    const result = await runnerOf({ pricing }).run("Go", { runId: "r-1" });

    expect(result.output).toBe("Done.");
    expect(await attempts()).toEqual([
      [1, "baseline", "all of it"],
      [1, "baseline", "all of it"],
    ]);
    expect(server.requests).toHaveLength(2);
    const calls = await store.listModelCalls("r-1");
    expect(await charged()).toBe(calls.reduce((sum, { reserved }) => sum + reserved.tokens, 0));
    expect(result.usage).toMatchObject({ inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 });
  });

  it("of 0 in every answer still uses up a budget", async () => {
    for (let i = 0; i < 9; i++)
      server.next(answer({ toolCalls: [{ name: "look", arguments: {} }], usage: { total_tokens: 0 } }));

    await failureAs(QuotaExceededError, runnerOf().run("Go", { runId: "r-1", budget: { tokens: 1_500 } }));

    expect(server.requests.length).toBeLessThan(5);
    expect(await charged()).toBeLessThanOrEqual(1_500);
  });

  it("from a custom model port is checked in the same way", async () => {
    const chargeFor = async (runId: string, usage: ModelResponse["usage"]) => {
      const content = [{ type: "text", text: "Hello" }];
      const respond = async () => ({
        content,
        usage,
        finishReason: "stop",
        invalidCalls: {},
        responseId: null,
      });
      const worker = agent({ name: "worker", model: { provider: "own", modelId: "own", respond } });
      await new Runner(worker, { store }).run("Go", { runId });
      return must((await store.listModelCalls(runId))[0]).charge;
    };
    const figures = { inputTokens: 3, outputTokens: 2 };

    // As an untyped port may return them.
    expect(await chargeFor("r-1", figures as Usage)).toMatchObject({ basis: "provider", usage: figures });
    expect(await chargeFor("r-2", NO_USAGE)).toMatchObject({ basis: "baseline" });
    expect(await chargeFor("r-3", { ...NO_USAGE, ...figures, reasoningTokens: -1 })).toMatchObject({
      basis: "baseline",
    });
  });

  it("of an empty answer may have no output, and is charged for its input", async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 0 };
    server.next(answer({ text: "", usage }), answer("Hello"));

    await runnerOf().run("Go", { runId: "r-1" });

    expect(await attempts()).toEqual([
      [1, "provider", 20],
      [2, "provider", 18],
    ]);
  });
});
