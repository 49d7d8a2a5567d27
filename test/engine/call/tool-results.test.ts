// Odd results and tools that block the thread: each leaves a clear receipt, and nothing crashes.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Json, LeaseLostError, NotApplied, Runner, Step, tool } from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { failureAs, memoryStore, must, toolResults } from "../run-fixture.ts";
import { acting, actTool, asking, jumpingClock, ledger, runnerOf, timedStore } from "./call-fixture.ts";

/** Runs one call with this result in a turn and in a code step, and returns both receipts. */
async function receiptsOf(result: () => unknown, options: Parameters<typeof actTool>[1] = {}) {
  const store = await memoryStore();
  const { act } = actTool(result, options);
  const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);
  await runner.run("Go", { runId: "r-1" });
  const code = Step.run("code", (_input, ctx) => ctx.call(act, { what: "a" }).catch(() => "threw"));
  const { output } = await new Runner(code, { store }).run("Go", { runId: "r-2" });
  const calls = [...(await store.listToolCalls("r-1")), ...(await store.listToolCalls("r-2"))];
  const [turn, step] = calls.map(({ receipt }) => must(receipt));
  return { turn: must(turn), step: must(step), seen: toolResults(prompts[1])[0], output };
}

/** An object that is not a promise but can be awaited. */
function thenable(value: string): object {
  const object = {};
  Reflect.set(object, "then", (resolve: (value: string) => void) => resolve(value));
  return object;
}

describe("a tool result", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;

  it.each<[string, () => unknown, Json]>([
    ["nothing", () => undefined, null],
    ["a date", () => new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a promise", () => Promise.resolve({ a: 1 }), { a: 1 }],
    ["a thenable", () => thenable("then"), "then"],
    ["a map", () => new Map([["a", 1]]), {}],
  ])("that is %s is stored in its JSON form, for a model and for code", async (_name, result, value) => {
    const { turn, step, seen, output } = await receiptsOf(result);
    for (const receipt of [turn, step])
      expect(receipt).toMatchObject({ status: "succeeded", source: "tool", output: { value } });
    expect(seen).toMatchObject({ value });
    expect(output).toEqual(value);
  });

  it.each<[string, () => unknown]>([
    ["a cycle", () => cycle],
    ["a BigInt", () => 7n],
    ["an object whose JSON throws", () => ({ toJSON: () => must(null) })],
  ])(
    "that is %s fails with a message that the effect took place, so the same call needs approval",
    async (_name, result) => {
      const { turn, step, output } = await receiptsOf(result);
      for (const receipt of [turn, step])
        expect(receipt).toMatchObject({
          status: "failed",
          errorCode: "result_not_json",
          uncertain: true,
          output: { type: "error-text", value: expect.stringMatching(/^act ran, .+ do not call it again/s) },
        });
      expect(output).toBe("threw");
    },
  );

  it("that cannot be stored needs no approval if the tool is repeatable", async () => {
    const { turn } = await receiptsOf(() => 7n, { recovery: "repeat" });
    expect(turn).toMatchObject({ status: "failed", uncertain: false });
  });

  it("of 30 MB is stored whole as a blob", async () => {
    const store = await memoryStore();
    const size = 30 * 1024 * 1024;
    const { act, calls } = actTool(() => "x".repeat(size));
    const { runner } = runnerOf(store, { act }, [acting("a")]);
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(calls).toHaveLength(1);
    const receipt = must((await store.listToolCalls("r-1"))[0]?.receipt);
    expect(receipt.output.value).toBe(`<<FL_BLOB_REF:${receipt.blob?.blobId}:size=${size + 2}>>`);
    const bytes = must(await store.readBlob("r-1", must(receipt.blob).blobId));
    expect(bytes.byteLength).toBe(size + 2);
  });
});

describe("a tool result with a schema", () => {
  const counting = (result: unknown) =>
    tool({
      name: "tally",
      description: "Counts.",
      inputSchema: z.object({}),
      outputSchema: z.object({ n: z.number(), unit: z.string().default("rows") }),
      execute: () => result as { n: number; unit: string },
    });

  it("that does not fit is an error which says that the effect took place", async () => {
    const store = await memoryStore();
    const { runner, prompts } = runnerOf(store, { tally: counting({ n: "many" }) }, [asking(["tally", {}])]);
    await runner.run("Go", { runId: "r-1" });
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "failed",
      errorCode: "invalid_output",
      uncertain: true,
      source: "tool",
    });
    expect(toolResults(prompts[1])).toMatchObject([
      {
        value: expect.stringMatching(/^tally ran, but its result does not fit its schema .+expected number/s),
      },
    ]);
  });

  it("that fits is stored as parsed by the schema", async () => {
    const store = await memoryStore();
    const { runner, prompts } = runnerOf(store, { tally: counting({ n: 3, more: true }) }, [
      asking(["tally", {}]),
    ]);
    await runner.run("Go", { runId: "r-1" });
    expect(toolResults(prompts[1])).toEqual([{ type: "json", value: { n: 3, unit: "rows" } }]);
  });
});

describe("the correlation id", () => {
  it("is stored with the receipt; the last one counts", async () => {
    const store = await memoryStore();
    const { act } = actTool((_n, call) => {
      void call.correlate("first");
      void call.correlate("<m-1@example.org>");
    });
    await runnerOf(store, { act }, [acting("a")]).runner.run("Go", { runId: "r-1" });
    expect((await store.listToolCalls("r-1"))[0]?.receipt?.correlationId).toBe("<m-1@example.org>");
  });

  it("is stored with each failed attempt, separately", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act } = actTool((n, call) => {
      if (n < 3) void call.correlate(`request-${n}`);
      throw new NotApplied("Busy.");
    });
    await runnerOf(store, { act }, [acting("a")], { clock }).runner.run("Go", { runId: "r-1" });
    const tries = await store.listToolCallAttempts("r-1");
    expect(tries.map(({ correlationId }) => correlationId)).toEqual(["request-1", "request-2"]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt?.correlationId).toBeNull();
  });

  it("is stored with a final failure", async () => {
    const { turn, step } = await receiptsOf(() => must(null));
    expect([turn.correlationId, step.correlationId]).toEqual([null, null]);
    const store = await memoryStore();
    const { act } = actTool((_n, call) => {
      void call.correlate("request-1");
      throw new Error("Reset.");
    });
    await runnerOf(store, { act }, [acting("a")]).runner.run("Go", { runId: "r-1" });
    expect((await store.listToolCalls("r-1"))[0]?.receipt?.correlationId).toBe("request-1");
  });

  it("that is no string, or half a character, is stored as valid text", async () => {
    const store = await memoryStore();
    const { act } = actTool((n, call) => call.correlate((n === 1 ? 7 : "x\ud83d") as string));
    await runnerOf(store, { act }, [acting("a", "b")], { maxParallelToolCalls: 1 }).runner.run("Go", {
      runId: "r-1",
    });
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ receipt }) => receipt?.correlationId)).toEqual(["7", "x\ufffd"]);
  });
});

describe("a tool that blocks the thread", () => {
  it("for longer than its timeout, and then returns, keeps its result", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(
      () => {
        const until = performance.now() + 120;
        while (performance.now() < until);
        return "at last";
      },
      { timeoutMs: 100 },
    );
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    // A busy machine may dispatch the call too late and then repeat it.
    expect([calls.length, (await ledger(store))[0]?.[0]]).toEqual([1, "succeeded"]);
    expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "at last" }]);
  });

  /** One call that takes ten seconds in which no timer fires. */
  async function blockedFor10s(leaseMs: number) {
    const clock = fakeClock();
    let stopped = 0;
    const stalled = {
      ...clock,
      now: () => clock.now() + stopped,
      monotonic: () => clock.monotonic() + stopped,
    };
    const store = await timedStore(stalled);
    const { act, calls } = actTool(() => {
      stopped += 10_000;
      return "at last";
    });
    const make = () => runnerOf(store, { act }, [acting("a")], { clock: stalled, leaseMs }).runner;
    return { store, calls, make };
  }

  it("for less than the lease keeps the run", async () => {
    const { calls, make } = await blockedFor10s(30_000);
    expect((await make().run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(calls).toHaveLength(1);
  });

  it("for longer than the lease stops the worker; its receipt is stored, and the call is not repeated", async () => {
    const { store, calls, make } = await blockedFor10s(9_000);
    await failureAs(LeaseLostError, make().run("Go", { runId: "r-1" }));
    expect(await ledger(store)).toEqual([["succeeded", 1, "tool"]]);
    expect((await make().resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
  });
});
