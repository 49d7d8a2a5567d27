// The metrics of runs, compared with the store.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { otel } from "../../../src/adapters/otel/otel.ts";
import { NotApplied, Runner, Step, tool } from "../../../src/index.ts";
import { memoryStore, must, scriptedAgent, sleeplessClock } from "../../engine/run-fixture.ts";
import { measuring, sumOf, tracing } from "./otel-fixture.ts";
import { asking, readOnlyTool } from "./otel-tools.ts";

const pricing = {
  id: "test",
  models: { "scripted-model": { inputPerMillion: 2_500_000, outputPerMillion: 10_000_000 } },
};

const look = readOnlyTool("look");

function work() {
  const script = [
    { ...asking(["look", "a"], ["look", "b"]), usage: { inputTokens: 1_000, outputTokens: 200 } },
    { text: "Done.", usage: { inputTokens: 3_000, outputTokens: 40 } },
  ];
  const { agent } = scriptedAgent(script, { tools: { look } });
  return Step.granular("work", agent);
}

describe("the metrics of a run", () => {
  it.each([
    ["with spans", true],
    ["without spans", false],
  ])("are those of the store, %s", async (_with, spans) => {
    if (spans) tracing();
    const { collect } = measuring();
    const store = await memoryStore();
    const runner = new Runner(work(), { store, pricing, telemetry: otel() });
    await runner.run("Go", { runId: "r-1" });
    const collected = await collect();
    const { charged, inputTokens, outputTokens } = await store.readUsage("r-1");
    expect(sumOf(collected, "pawl.tokens", { "gen_ai.token.type": "input" })).toBe(inputTokens);
    expect(sumOf(collected, "pawl.tokens", { "gen_ai.token.type": "output" })).toBe(outputTokens);
    expect(sumOf(collected, "pawl.tokens", { "gen_ai.request.model": "scripted-model" })).toBe(
      charged.tokens,
    );
    expect(Math.round(sumOf(collected, "pawl.cost") * 1_000_000)).toBe(charged.microDollars);
    expect(charged.microDollars).toBeGreaterThan(0);
    expect(sumOf(collected, "pawl.turns", { "pawl.pipeline": "work" })).toBe(2);
    expect(sumOf(collected, "pawl.tool_calls")).toBe(2);
    expect(
      sumOf(collected, "pawl.tool_calls", { "gen_ai.tool.name": "look", "pawl.tool.status": "succeeded" }),
    ).toBe(2);
  });

  it("have the two histograms of the conventions, with one value per model call", async () => {
    const { collect } = measuring();
    const store = await memoryStore();
    await new Runner(work(), { store, telemetry: otel() }).run("Go", { runId: "r-1" });
    const collected = await collect();
    const pointsOf = (name: string) =>
      must(collected.find(({ descriptor }) => descriptor.name === name)).dataPoints.map((point) => [
        point.attributes,
        point.value,
      ]);
    const call = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "scripted",
      "gen_ai.request.model": "scripted-model",
    };
    expect(pointsOf("gen_ai.client.operation.duration")).toEqual([
      [call, expect.objectContaining({ count: 2 })],
    ]);
    expect(pointsOf("gen_ai.client.token.usage")).toEqual([
      [{ ...call, "gen_ai.token.type": "input" }, expect.objectContaining({ count: 2, sum: 4_000 })],
      [{ ...call, "gen_ai.token.type": "output" }, expect.objectContaining({ count: 2, sum: 240 })],
    ]);
  });

  it("count a charge without reported usage once", async () => {
    const { collect } = measuring();
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Done.", usage: null }]);
    const runner = new Runner(Step.granular("work", agent), { store, pricing, telemetry: otel() });
    await runner.run("Go", { runId: "r-1" });
    const collected = await collect();
    const { charged } = await store.readUsage("r-1");
    const baseline = { "pawl.charge_basis": "baseline" };
    expect(charged.tokens).toBeGreaterThan(0);
    expect(sumOf(collected, "pawl.tokens")).toBe(charged.tokens);
    expect(sumOf(collected, "pawl.tokens", baseline)).toBe(charged.tokens);
    expect(Math.round(sumOf(collected, "pawl.cost") * 1_000_000)).toBe(charged.microDollars);
    expect(sumOf(collected, "pawl.cost", baseline)).toBe(sumOf(collected, "pawl.cost"));
  });

  it("count attempts that are followed by another, of tools and of models", async () => {
    const { collect } = measuring();
    const store = await memoryStore();
    let tries = 0;
    const shaky = tool({
      name: "shaky",
      description: "Works in the end.",
      inputSchema: z.object({ q: z.string() }),
      effect: "external",
      execute: () => {
        if (++tries < 3) throw new NotApplied("Not yet.");
        return "done";
      },
    });
    const { agent } = scriptedAgent([asking(["shaky", "x"]), { text: "Done." }], { tools: { shaky } });
    const runner = new Runner(Step.granular("work", agent), {
      store,
      clock: sleeplessClock(),
      telemetry: otel(),
    });
    await runner.run("Go", { runId: "r-1" });
    const collected = await collect();
    expect(sumOf(collected, "pawl.retries", { "gen_ai.operation.name": "execute_tool" })).toBe(2);
    expect(sumOf(collected, "pawl.retries")).toBe(2);
    expect(sumOf(collected, "pawl.tool_calls", { "pawl.tool.status": "not_applied" })).toBe(2);
    expect(sumOf(collected, "pawl.tool_calls", { "pawl.tool.status": "succeeded" })).toBe(1);
  });

  it("count calls in doubt, lost leases and deduplicated calls", async () => {
    const { collect } = measuring();
    const run = otel().begin({ runId: "r-1", pipeline: "p", resumed: false, earlier: [] });
    run.onEvent({ type: "tool.in_doubt", runId: "r-1", toolCallId: "r-1/a#1.1" });
    run.onEvent({ type: "lease.lost", runId: "r-1", epoch: 1 });
    const duplicate = { toolCallId: "r-1/a#1.2", tool: "send", duplicateOf: "r-1/a#1.1" };
    run.onEvent({ type: "tool.deduplicated", runId: "r-1", ...duplicate });
    const failure = { step: "a", turn: 1, message: "It is busy." };
    const failed = { type: "model.failed", runId: "r-1", ...failure } as const;
    run.onEvent({ ...failed, attempt: 1, retryInMs: 10, outageSince: null });
    run.onEvent({ ...failed, attempt: 2, retryInMs: null, outageSince: null });
    const collected = await collect();
    expect(sumOf(collected, "pawl.in_doubt")).toBe(1);
    expect(sumOf(collected, "pawl.lease_losses")).toBe(1);
    expect(sumOf(collected, "pawl.tool_calls", { "pawl.tool.status": "deduplicated" })).toBe(1);
    expect(sumOf(collected, "pawl.retries", { "gen_ai.operation.name": "chat" })).toBe(1);
  });

  it("go to the SDK that is registered when a run begins", async () => {
    const telemetry = otel();
    const store = await memoryStore();
    await new Runner(work(), { store, telemetry }).run("Go", { runId: "r-1" });
    const { collect } = measuring();
    await new Runner(work(), { store, telemetry }).run("Go", { runId: "r-2" });
    expect(sumOf(await collect(), "pawl.turns")).toBe(2);
  });
});
