// The crash points: each is reached, and after a failure at any of them the run ends in the same way.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, conversation, Pipeline, Runner, Step, type Store, tool } from "../../src/index.ts";
import {
  CRASH_POINTS,
  type CrashPoint,
  type CrashProbe,
  crashAt,
  scriptedModel,
} from "../../src/testing/index.ts";
import { memoryStore, noteTool, scriptedAgent } from "../engine/run-fixture.ts";
import { PATIENCE } from "../patience.ts";

/** A run with everything in it: an agent with two calls in a turn, code that calls a tool, and a loop. */
function everything(store: Store) {
  const { note, calls } = noteTool((text) => `did ${text}`, { recovery: "keyed" });
  const noting = (...texts: string[]) => ({
    toolCalls: texts.map((text) => ({ name: "note", input: { text } })),
  });
  const { agent, prompts } = scriptedAgent([noting("a", "b"), noting("a"), { text: "End." }], {
    tools: { note },
  });
  const pipeline = Pipeline.of(
    "all",
    Step.granular("work", agent),
    Step.run("code", async (input: string, ctx) => {
      ctx.context.noted = await ctx.call(note, { text: "c" });
      return input.length;
    }),
    Step.loop(
      "grow",
      Step.run("next", (n: number) => n + 1),
      { until: (n) => n > 5, maxIterations: 9 },
    ),
  );
  const runner = (probe: CrashProbe) => new Runner(pipeline, { store, probe, maxParallelToolCalls: 1 });
  return { runner, calls, prompts };
}

/** Every point that a run reaches, in order. */
async function sites(): Promise<{ point: CrashPoint; stepPath: string; turnIndex: number }[]> {
  const reached: { point: CrashPoint; stepPath: string; turnIndex: number }[] = [];
  const { runner } = everything(await memoryStore());
  await runner((point, { stepPath, turnIndex }) => reached.push({ point, stepPath, turnIndex })).run("Go");
  return reached;
}

/** A run with difficulties: a look-up after a failure, and an approval. */
function troubles(store: Store, rung: string[], sent: string[]) {
  const ring = tool({
    name: "ring",
    description: "Ring the bell once.",
    inputSchema: z.object({}),
    effect: "external",
    recovery: "reconcile",
    timeoutMs: 1_000,
    landsWithinMs: 0,
    execute: (_, call): string => {
      rung.push(call.idempotencyKey);
      throw new Error("The line went dead.");
    },
    reconcile: (_, call) =>
      rung.includes(call.idempotencyKey) ? { status: "done", result: "rung" } : { status: "absent" },
  });
  const send = tool({
    name: "send",
    description: "Send it.",
    inputSchema: z.object({ to: z.string() }),
    effect: "external",
    recovery: "keyed",
    approval: true,
    execute: (_, call) => sent.push(call.idempotencyKey),
  });
  const code = Step.run("code", async (_, ctx) => [
    await ctx.call(ring, {}),
    await ctx.call(send, { to: "Ann" }),
  ]);
  return (probe: CrashProbe) => new Runner(code, { store, probe, random: () => 0, leaseMs: 500 });
}

/** Runs it to its end, with a person who approves. */
async function throughTroubles(
  store: Store,
  runner: (probe: CrashProbe) => Runner,
  probe: CrashProbe,
): Promise<string> {
  const { waits, status } = await runner(probe).run("Go", { runId: "r-1" });
  expect([status, waits.map(({ kind }) => kind)]).toEqual(["waiting", ["approval"]]);
  for (const { waitId } of waits) await store.approve(waitId, { by: "Bob" });
  return (await runner(probe).resume("r-1")).status;
}

async function troubleSites(): Promise<CrashPoint[]> {
  const reached: CrashPoint[] = [];
  const store = await memoryStore();
  const status = await throughTroubles(store, troubles(store, [], []), (point) => reached.push(point));
  expect(status).toBe("succeeded");
  return reached;
}

/** A run that fails in its first turn, and is resumed from its beginning with another model. */
async function newLineageSites(): Promise<CrashPoint[]> {
  const reached: CrashPoint[] = [];
  const store = await memoryStore();
  const runner = (script: Parameters<typeof scriptedModel>[0]) =>
    new Runner(agent({ name: "worker", model: scriptedModel(script) }), {
      store,
      maxModelAttempts: 1,
      probe: (point) => reached.push(point),
    });
  await expect(runner([]).run("Go", { runId: "r-1" })).rejects.toThrow("no answer");
  await runner([{ text: "Done." }]).resume("r-1", { from: "milestone" });
  return reached;
}

/** A conversation whose model does not answer: the exchange ends, and the run waits. */
async function failedExchangeSites(): Promise<CrashPoint[]> {
  const reached: CrashPoint[] = [];
  const talk = conversation(agent({ name: "worker", model: scriptedModel([]) }));
  const runner = new Runner(talk, {
    store: await memoryStore(),
    maxModelAttempts: 1,
    probe: (point) => reached.push(point),
  });
  expect(await runner.run("Hello", { runId: "r-1" })).toMatchObject({ status: "waiting" });
  return reached;
}

/** A conversation whose history is replaced by a summary before its second exchange. */
async function compactionSites(): Promise<CrashPoint[]> {
  const reached: CrashPoint[] = [];
  const store = await memoryStore();
  const texts = ["Good day to you. ".repeat(20), "A greeting.", "Yes."];
  const model = scriptedModel(() => ({ text: texts.shift() ?? "" }));
  const talk = conversation(agent({ name: "worker", model }), { compaction: { atTokens: 25 } });
  const runner = new Runner(talk, { store, probe: (point) => reached.push(point) });
  await runner.run("Hello, is anybody there?", { runId: "r-1" });
  await runner.send("r-1", "Still there?");
  expect(await runner.resume("r-1")).toMatchObject({ status: "waiting" });
  return reached;
}

describe("the crash points", () => {
  it("have unique names, and each is reached", async () => {
    expect(new Set(CRASH_POINTS).size).toBe(CRASH_POINTS.length);
    const reached = new Set([
      ...(await sites()).map(({ point }) => point),
      ...(await troubleSites()),
      ...(await newLineageSites()),
      ...(await failedExchangeSites()),
      ...(await compactionSites()),
    ]);
    expect([...reached].sort()).toEqual([...CRASH_POINTS].sort());
  });

  it("failing at any of them in a run with difficulties repeats nothing", PATIENCE, async () => {
    const all = await troubleSites();
    expect(all.length).toBeGreaterThan(20);
    for (const [failing, point] of all.entries()) {
      const store = await memoryStore();
      const [rung, sent]: [string[], string[]] = [[], []];
      const runner = troubles(store, rung, sent);
      let reached = 0;
      const probe: CrashProbe = () => {
        if (reached++ === failing) throw new Error(`Failed at ${point}.`);
      };
      await expect(throughTroubles(store, runner, probe)).rejects.toThrow(`Failed at ${point}.`);

      // A worker that fails while it releases the run has not released it.
      let { status, waits } = await runner(() => undefined).resume("r-1", { wait: true });
      while (status === "waiting") {
        for (const { waitId } of waits) await store.approve(waitId, { by: "Bob" });
        ({ status, waits } = await runner(() => undefined).resume("r-1"));
      }
      expect([point, status, rung.length, new Set(sent).size]).toEqual([point, "succeeded", 1, 1]);
      expect((await store.verify("r-1")).problems).toEqual([]);
    }
  });

  it("surround the actions of a turn, in order", async () => {
    const ofTurn = (await sites()).filter(
      ({ stepPath, turnIndex }) => stepPath === "work" && turnIndex === 1,
    );
    expect(ofTurn.map(({ point }) => point)).toEqual([
      "turn:before-open",
      "turn:opened",
      "model:before-request",
      "model:noted",
      "model:answered",
      "turn:before-journal",
      "turn:journaled",
      "tool:before-execute",
      "tool:noted",
      "tool:executed",
      "tool:before-receipt",
      "tool:before-start",
      "tool:started",
      "tool:receipt-stored",
      "tool:before-execute",
      "tool:noted",
      "tool:executed",
      "turn:before-commit",
      "turn:committed",
    ]);
  });

  it("are identified by run, step and turn", async () => {
    const all = await sites();
    expect(all.filter(({ point }) => point === "turn:committed").map(({ turnIndex }) => turnIndex)).toEqual([
      1, 2, 3,
    ]);
    expect(all.filter(({ point }) => point === "loop:decided").map(({ turnIndex }) => turnIndex)).toEqual([
      1, 2,
    ]);
    expect(all.find(({ point }) => point === "run:created")).toMatchObject({ stepPath: "", turnIndex: 0 });
  });

  it("failing at any of them leaves a run that is resumed to the same end", PATIENCE, async () => {
    const all = await sites();
    expect(all.length).toBeGreaterThan(40);
    for (const [failing, site] of all.entries()) {
      const store = await memoryStore();
      const { runner, calls, prompts } = everything(store);
      let reached = 0;
      const probe: CrashProbe = () => {
        if (reached++ === failing) throw new Error(`Failed at ${site.point}.`);
      };

      await expect(runner(probe).run("Go", { runId: "r-1" })).rejects.toThrow(`Failed at ${site.point}.`);
      const run = await store.getRun("r-1");
      expect([run?.owner, run?.reserved.tokens]).toEqual([null, 0]);

      const result = await runner(() => undefined).resume("r-1");
      expect(result).toMatchObject({ status: "succeeded", output: 6, context: { noted: "did c" } });
      const turns = await store.listTurns("r-1");
      expect(turns.map(({ turnIndex }) => turnIndex)).toEqual([1, 2, 3]);
      // Four effects with different keys; at most the failed one was tried again, with the same key.
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
      expect(calls.length).toBeLessThanOrEqual(5);
      expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(
        Array.from({ length: 4 }, () => "succeeded"),
      );
      // Every answer is charged, and at most one was requested twice.
      expect(prompts.length).toBeLessThanOrEqual(4);
      expect(result.usage.charged.tokens).toBe(prompts.length * 15);
    }
  });
});

describe("crashAt", () => {
  it("kills at no other point, turn or step than the one it was given", () => {
    const site = { runId: "r-1", stepPath: "work", turnIndex: 2 };
    crashAt("turn:journaled")("turn:committed", site);
    crashAt("turn:journaled", { turn: 3 })("turn:journaled", site);
    crashAt("turn:journaled", { turn: 2, step: "other" })("turn:journaled", site);
  });
});
