// Budgets: reserved before anything is sent, charged once, and kept across resumes.

import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  MaxTurnsExceededError,
  type Pricing,
  QuotaExceededError,
  Runner,
  type RunnerOptions,
  Step,
} from "../../../src/index.ts";
import { failureAs, memoryStore, must, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

const NOTHING = { tokens: 0, microDollars: 0 };
const settings = { maxOutputTokens: 100 };

describe("a budget", () => {
  it("that does not cover the first call refuses it before anything is sent", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }], { settings });
    const runner = new Runner(agent, { store });

    const error = await failureAs(
      QuotaExceededError,
      runner.run("Go", { runId: "r-1", budget: { tokens: 50 } }),
    );

    expect(error.details).toEqual({ unit: "tokens", wanted: expect.any(Number), remaining: 50 });
    expect(error.details.wanted).toBeGreaterThan(100);
    expect(prompts).toHaveLength(0);
    expect(await store.listModelCalls("r-1")).toEqual([]);
    expect(await store.getRun("r-1")).toMatchObject({
      status: "failed",
      charged: NOTHING,
      reserved: NOTHING,
    });
  });

  it("can be raised when the run is resumed", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }], { settings });
    const runner = new Runner(agent, { store });
    await failureAs(QuotaExceededError, runner.run("Go", { runId: "r-1", budget: { tokens: 50 } }));
    await failureAs(QuotaExceededError, runner.resume("r-1")); // the budget belongs to the run, not to the call

    expect((await runner.resume("r-1", { budget: { tokens: 500 } })).output).toBe("Hello");

    expect((await store.getRun("r-1"))?.limit).toEqual({ tokens: 500, microDollars: null });
  });

  it("counts what was used before a resume", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const usage = { inputTokens: 300, outputTokens: 50 };
    const script = [{ ...noting("one"), usage }, { text: "Hello" }];
    const { agent, prompts } = scriptedAgent(script, { settings, tools: { note } });
    const short = new Runner(Step.granular("worker", agent, { maxTurns: 1 }), { store });
    await failureAs(MaxTurnsExceededError, short.run("Go", { runId: "r-1", budget: { tokens: 400 } }));

    const error = await failureAs(QuotaExceededError, new Runner(agent, { store }).resume("r-1"));

    expect(error.details.remaining).toBe(50);
    expect(prompts).toHaveLength(1);
  });

  it("that is refused for the next turn leaves this one committed", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const script = [noting("one"), { text: "Hello" }];
    const { agent, prompts } = scriptedAgent(script, { settings, tools: { note } });
    const runner = new Runner(agent, { store });
    const first = await failureAs(QuotaExceededError, runner.run("Go", { budget: { tokens: 1 } }));

    // Enough for the first call and its 15 tokens, and not for a second one.
    const budget = { tokens: first.details.wanted + 5 };
    const error = await failureAs(QuotaExceededError, runner.run("Go", { runId: "r-1", budget }));

    expect(error.details.remaining).toBe(budget.tokens - 15);
    expect(done).toEqual(["one"]);
    expect(prompts).toHaveLength(1);
    expect(await store.readGranularState("r-1", "worker")).toMatchObject({ turnIndex: 1 });
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["succeeded"]);
    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 15 }, reserved: NOTHING });
    // With more, the run continues.
    expect((await runner.resume("r-1", { budget: { tokens: 1_000 } })).output).toBe("Hello");
    expect(done).toEqual(["one"]);
  });

  it("that a call exceeded is charged completely, and refuses the next call", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const usage = { inputTokens: 5_000, outputTokens: 1 };
    const { agent, prompts } = scriptedAgent([{ ...noting("one"), usage }], { settings, tools: { note } });

    const run = new Runner(agent, { store }).run("Go", { runId: "r-1", budget: { tokens: 1_000 } });
    const error = await failureAs(QuotaExceededError, run);

    expect(error.details.remaining).toBe(0);
    expect(prompts).toHaveLength(1);
    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 5_001 }, reserved: NOTHING });
    expect((await store.readGranularState("r-1", "worker"))?.turnIndex).toBe(1);
  });

  it.each([-1, 1.5, Number.NaN])("of %d tokens is refused, and no run is left behind", async (tokens) => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);

    await failureAs(ConfigurationError, new Runner(agent, { store }).run("Go", { budget: { tokens } }));

    expect(await store.listRuns()).toEqual([]);
  });
});

describe("a reservation", () => {
  it("for the next turn is part of the commit of this one", async () => {
    const commits: string[] = [];
    const store = await memoryStore({ onCommit: (intents) => commits.push(...intents) });
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), noting("two"), { text: "End." }], { tools: { note } });

    await new Runner(agent, { store }).run("Go", { runId: "r-1" });

    expect(commits).toEqual([
      "createRun",
      "beginStep",
      "openTurn",
      "journalResponse",
      "commitTurn",
      "journalResponse",
      "commitTurn",
      "commitTurn", // an answer without calls is journaled and committed at once
      "finishStep",
      "releaseRun",
    ]);
  });

  it("is released without a charge when the run is cancelled before its call", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const { note } = noteTool(() => cancel.abort());
    const { agent, prompts } = scriptedAgent([noting("one")], { tools: { note } });

    const result = await new Runner(agent, { store }).run("Go", { runId: "r-1", signal: cancel.signal });

    expect(result.status).toBe("cancelled");
    expect(prompts).toHaveLength(1);
    const calls = await store.listModelCalls("r-1");
    expect(calls.map(({ turnIndex, charge }) => [turnIndex, charge?.basis, charge?.amount.tokens])).toEqual([
      [1, "provider", 15],
      [2, "none", 0],
    ]);
    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 15 }, reserved: NOTHING });
  });

  it.each<[string, RunnerOptions["estimateTokens"]]>([
    ["throws", () => raise("no estimate")],
    ["is not a number", () => Number.NaN],
    ["is negative", () => -1],
    ["is a fraction", (text) => text.length / 4 + 0.1],
  ])("with an estimate of a tool result that %s does not lose the receipt", async (_name, estimate) => {
    const store = await memoryStore();
    const { note, done } = noteTool(() => "a strange result");
    const script = [noting("one"), { text: "Hello" }];
    const { agent } = scriptedAgent(script, { tools: { note } });
    const estimateTokens = (text: string) =>
      text.includes("strange") ? must(estimate)(text) : Math.ceil(text.length / 4);

    const result = await new Runner(agent, { store, estimateTokens }).run("Go", { runId: "r-1" });

    expect(result.output).toBe("Hello");
    expect(done).toEqual(["one"]);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["succeeded"]);
  });

  it("that cannot be computed does not fail the previous commit: the turn fails when it opens", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const script = [{ text: "A pricey thought", ...noting("one") }, { text: "Hello" }];
    const { agent, prompts } = scriptedAgent(script, { settings, tools: { note } });
    // This many tokens at this price are more micro-dollars than a safe integer can hold.
    const estimateTokens = (text: string) => (text.includes("pricey") ? 2_000_000 : 1);
    const runner = new Runner(agent, {
      store,
      estimateTokens,
      pricing: priceyPlan(Number.MAX_SAFE_INTEGER - 1),
    });

    await failureAs(ConfigurationError, runner.run("Go", { runId: "r-1" }));

    expect(prompts).toHaveLength(1);
    expect(done).toEqual(["one"]);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["succeeded"]);
    expect((await store.readGranularState("r-1", "worker"))?.turnIndex).toBe(1);
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", reserved: NOTHING });
  });
});

function raise(message: string): never {
  throw new Error(message);
}

function priceyPlan(perMillion: number): Pricing {
  return {
    id: "pricey",
    models: { "scripted-model": { inputPerMillion: perMillion, outputPerMillion: 1 } },
  };
}

describe("prices", () => {
  const pricing: Pricing = {
    id: "plan-1",
    models: { "scripted-model": { inputPerMillion: 2_500_000, outputPerMillion: 10_000_000 } },
  };

  it("are charged in whole micro-dollars, rounded up", async () => {
    const store = await memoryStore();
    const usage = { inputTokens: 1_001, outputTokens: 3 };
    const { agent } = scriptedAgent([{ text: "Hello", usage }], { settings });

    const result = await new Runner(agent, { store, pricing }).run("Go", { runId: "r-1" });

    // 1,001 × 2.5 + 3 × 10 = 2,532.5
    expect(result.usage.charged).toEqual({ tokens: 1_004, microDollars: 2_533 });
    const [call] = await store.listModelCalls("r-1");
    const { reserved } = must(call);
    expect(reserved.microDollars).toBe(Math.ceil((reserved.tokens - 100) * 2.5) + 1_000);
  });

  it("enforce a budget in micro-dollars", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }], { settings });

    const run = new Runner(agent, { store, pricing }).run("Go", { budget: { microDollars: 1_000 } });
    const error = await failureAs(QuotaExceededError, run);

    expect(error.details).toMatchObject({ unit: "microDollars", remaining: 1_000 });
    expect(prompts).toHaveLength(0);
  });

  it("that are not whole are refused when the runner is made", () => {
    const { agent } = scriptedAgent([]);
    expect(() => new Runner(agent, { pricing: priceyPlan(2.5) })).toThrow(ConfigurationError);
  });

  it("of another plan change the fingerprint: a run keeps its prices", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const short = Step.granular("worker", agent, { maxTurns: 1 });
    await failureAs(MaxTurnsExceededError, new Runner(short, { store, pricing }).run("Go", { runId: "r-1" }));

    await expect(new Runner(agent, { store }).resume("r-1")).rejects.toMatchObject({
      irrecoverable: true,
      details: { changes: [{ what: "pricingPlan", was: "plan-1", is: "unpriced" }] },
    });
  });
});
