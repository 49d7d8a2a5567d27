// The points: each is reached, and a failure at any of them, at any time, leaves a run that comes to the same end.

import { describe, expect, it } from "vitest";
import { Pipeline, Runner, Step, type Store } from "../../src/index.ts";
import { CRASH_POINTS, type CrashPoint, type CrashProbe, crashAt } from "../../src/testing/index.ts";
import { memoryStore, noteTool, scriptedAgent } from "../engine/run-fixture.ts";

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

/** Every time that a point is reached in a run, in order. */
async function sites(): Promise<{ point: CrashPoint; stepPath: string; turnIndex: number }[]> {
  const reached: { point: CrashPoint; stepPath: string; turnIndex: number }[] = [];
  const { runner } = everything(await memoryStore());
  await runner((point, { stepPath, turnIndex }) => reached.push({ point, stepPath, turnIndex })).run("Go");
  return reached;
}

describe("the crash points", () => {
  it("have names of their own, and a run with everything in it reaches each", async () => {
    expect(new Set(CRASH_POINTS).size).toBe(CRASH_POINTS.length);
    const reached = new Set((await sites()).map(({ point }) => point));
    expect([...reached].sort()).toEqual([...CRASH_POINTS].sort());
  });

  it("surround what a turn does, in the order of its life", async () => {
    const ofTurn = (await sites()).filter(
      ({ stepPath, turnIndex }) => stepPath === "work" && turnIndex === 1,
    );
    expect(ofTurn.map(({ point }) => point)).toEqual([
      "turn:before-open",
      "turn:opened",
      "model:before-request",
      "model:answered",
      "turn:before-journal",
      "turn:journaled",
      "tool:before-execute",
      "tool:executed",
      "tool:before-receipt",
      "tool:receipt-stored",
      "tool:before-execute",
      "tool:executed",
      "turn:before-commit",
      "turn:committed",
    ]);
  });

  it("are told apart by run, step and turn", async () => {
    const all = await sites();
    expect(all.filter(({ point }) => point === "turn:committed").map(({ turnIndex }) => turnIndex)).toEqual([
      1, 2, 3,
    ]);
    expect(all.filter(({ point }) => point === "loop:decided").map(({ turnIndex }) => turnIndex)).toEqual([
      1, 2,
    ]);
    expect(all.find(({ point }) => point === "run:created")).toMatchObject({ stepPath: "", turnIndex: 0 });
  });

  it("failing at any of them leaves a run that is resumed to the same end", async () => {
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
      // Four effects, told apart by their keys; at most the one that failed was tried again, with the same key.
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
      expect(calls.length).toBeLessThanOrEqual(5);
      expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(
        Array.from({ length: 4 }, () => "succeeded"),
      );
      // Every answer is paid for, and no more than one was asked for twice.
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
