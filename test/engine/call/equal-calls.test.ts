// Equal calls side by side, in one answer of a model or in one step of code: the first decides about the others.

import { describe, expect, it } from "vitest";
import {
  type CodeStepContext,
  type Json,
  NotApplied,
  Pipeline,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
  type ToolCallContext,
} from "../../../src/index.ts";
import { collect, failureOf, memoryStore, toolResults } from "../run-fixture.ts";
import { acting, actTool, jumpingClock, lightsOut, openWait, runnerOf, timedStore } from "./call-fixture.ts";

async function rows(store: Store) {
  const calls = await store.listToolCalls("r-1");
  return calls.map(({ status, receipt }) => [status, receipt?.duplicateOf ?? null]);
}

type Execute = (n: number, call: ToolCallContext) => unknown;
type Options = Parameters<typeof actTool>[1];

/** One answer that asks twice for the same effect. */
async function twice(execute?: Execute, options: Options = {}, given: RunnerOptions = {}) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const { act, calls } = actTool(execute, { dedupe: "effect", ...options });
  const make = (more: RunnerOptions = {}) =>
    runnerOf(store, { act }, [acting("a", "a")], { clock, ...given, ...more });
  return { store, calls, make, ...make() };
}

const failing = (error: () => Error) => (n: number) => {
  if (n === 1) throw error();
  return `done ${n}`;
};

describe("two equal calls in one answer", () => {
  it("are one effect and two rows: the second waits for the first, and gets its receipt", async () => {
    const end = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<void>();
    const { store, calls, runner, prompts } = await twice(() => {
      begun.resolve();
      return end.promise;
    });
    const run = runner.run("Go", { runId: "r-1" });
    await begun.promise;
    expect((await rows(store)).map(([status]) => status)).toEqual(["running", "prepared"]);
    end.resolve("sent");
    expect((await run).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect(await rows(store)).toEqual([
      ["succeeded", null],
      ["deduplicated", "r-1/worker#1.1"],
    ]);
    expect(toolResults(prompts[1])).toEqual([
      { type: "text", value: "sent" },
      { type: "text", value: "sent" },
    ]);
  });

  it("are two effects where each call is one of its own", async () => {
    const { store, calls, runner } = await twice(undefined, { dedupe: "call" });
    await runner.run("Go", { runId: "r-1" });
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
    expect((await rows(store)).map(([status]) => status)).toEqual(["succeeded", "succeeded"]);
  });

  it("are asked about, each one of its own or not, where the first may have happened before the second began", async () => {
    const lost = failing(() => new Error("The line went dead."));
    const { store, calls, runner } = await twice(lost, { dedupe: "call" }, { maxParallelToolCalls: 1 });
    const { waits } = await runner.run("Go", { runId: "r-1" });
    expect(waits.map(({ kind, toolCallId }) => [kind, toolCallId])).toEqual([["approval", "r-1/worker#1.2"]]);
    expect(calls).toHaveLength(1);
    await store.approve("r-1~1");
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(2);
  });

  it("run both where the first has failed for certain", async () => {
    const busy = failing(() => new NotApplied("Busy."));
    const { calls, runner, prompts } = await twice(busy, {}, { maxRetriesPerToolCall: 0 });
    await runner.run("Go", { runId: "r-1" });
    expect(calls.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/worker#1.1", "r-1/worker#1.2"]);
    expect(toolResults(prompts[1])).toMatchObject([{ value: "Busy." }, { value: "done 2" }]);
  });

  it("ask a person about the second where the first may have happened", async () => {
    const { store, calls, make } = await twice(failing(() => new Error("Reset.")));
    expect((await make().runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    const wait = await openWait(store);
    expect(wait).toMatchObject({ toolCallId: "r-1/worker#1.2", subject: { earlier: "r-1/worker#1.1" } });
    await store.approve(wait.waitId);
    const { runner, prompts } = make();
    await runner.resume("r-1");
    expect(toolResults(prompts[0])).toMatchObject([{ value: "Reset." }, { value: "done 2" }]);
  });

  it("ask once where the first waits for approval; approved, it runs, and the second is its duplicate", async () => {
    const { store, calls, make } = await twice(undefined, { approval: true });
    const { waits } = await make().runner.run("Go", { runId: "r-1" });
    expect(waits.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/worker#1.1"]);
    await store.approve((await openWait(store)).waitId);
    expect((await make().runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect((await rows(store))[1]).toEqual(["deduplicated", "r-1/worker#1.1"]);
  });

  it("do not run either where the first was denied and nobody approved the second", async () => {
    const { store, calls, make } = await twice(undefined, { approval: true });
    await make().runner.run("Go", { runId: "r-1" });
    await store.deny((await openWait(store)).waitId, "No.");
    await make().runner.resume("r-1");
    expect(calls).toEqual([]);
    expect((await rows(store))[0]).toEqual(["cancelled", null]);
  });

  it("wait both where the first is in doubt; settled as done, the second is its duplicate", async () => {
    const { store, calls, make } = await twice();
    await failureOf(make({ probe: lightsOut("tool:executed") }).runner.run("Go", { runId: "r-1" }));
    const { waits } = await make().runner.resume("r-1");
    expect(waits.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/worker#1.1"]);
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: "by hand" });
    const { runner, prompts } = make();
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[0])).toMatchObject([{ value: "by hand" }, { value: "by hand" }]);
  });

  it("are one effect where the run was cancelled in the first", async () => {
    const cancel = new AbortController();
    const { store, calls, runner } = await twice(() => {
      cancel.abort();
      throw new Error("Stopped.");
    });
    expect((await runner.run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");
    expect(calls).toHaveLength(1);
    expect((await rows(store)).map(([status]) => status)).toEqual(["in_doubt", "prepared"]);
  });

  it.each(["tool:receipt-stored", "tool:executed", "turn:before-commit"] as const)(
    "are one effect whenever the lights go out (%s)",
    async (point) => {
      const { store, calls, make } = await twice(undefined, { recovery: "keyed" });
      await failureOf(make({ probe: lightsOut(point) }).runner.run("Go", { runId: "r-1" }));
      expect((await make().runner.resume("r-1")).output).toBe("End.");
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(await rows(store)).toEqual([
        ["succeeded", null],
        ["deduplicated", "r-1/worker#1.1"],
      ]);
    },
  );
});

describe("equal calls of code", () => {
  async function codeOf(
    code: (ctx: CodeStepContext, act: ReturnType<typeof actTool>["act"]) => unknown,
    execute?: Execute,
    options: Options = {},
  ) {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls, whats } = actTool(execute, { dedupe: "effect", ...options });
    const step = Step.run("code", async (_input: Json, ctx) => (await code(ctx, act)) as Json);
    const make = (more: RunnerOptions = {}) => new Runner(step, { store, clock, ...more });
    return { store, clock, calls, whats, make, act };
  }

  const both = (ctx: CodeStepContext, act: ReturnType<typeof actTool>["act"]) =>
    Promise.all([ctx.call(act, { what: "a" }), ctx.call(act, { what: "a" })]);

  it("side by side are one effect, two rows, and the same result twice", async () => {
    const { store, calls, make } = await codeOf(both);
    const events = await collect(make().stream("Go", { runId: "r-1" }));
    expect(calls).toHaveLength(1);
    expect((await store.getRun("r-1"))?.output).toEqual(["done 1", "done 1"]);
    expect(await rows(store)).toEqual([
      ["succeeded", null],
      ["deduplicated", "r-1/code#0.1"],
    ]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool.deduplicated", duplicateOf: "r-1/code#0.1" }),
    );
  });

  it("side by side ask once for approval, and are one effect then", async () => {
    const { store, calls, make } = await codeOf(both, undefined, { approval: true });
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(waits).toHaveLength(1);
    await store.approve((await openWait(store)).waitId);
    expect((await make().resume("r-1")).output).toEqual(["done 1", "done 1"]);
    expect(calls).toHaveLength(1);
  });

  it("side by side do not run one after the other where the first is in doubt", async () => {
    const { store, calls, clock, make } = await codeOf(
      both,
      (n) => {
        if (n > 1) return "twice!";
        void clock.advance(20_000);
        return new Promise(() => undefined);
      },
      { timeoutMs: 5_000 },
    );
    const { status, waits } = await make().run("Go", { runId: "r-1" });
    expect(calls).toHaveLength(1);
    expect([status, waits.map(({ toolCallId }) => toolCallId)]).toEqual(["waiting", ["r-1/code#0.1"]]);
    await store.settle("r-1/code#0.1", { as: "succeeded", result: "by hand" });
    expect((await make().resume("r-1")).output).toEqual(["by hand", "by hand"]);
    expect(calls).toHaveLength(1);
  });

  it("side by side do not run one after the other where the run was cancelled in the first", async () => {
    const cancel = new AbortController();
    const { calls, make } = await codeOf(both, (n) => {
      if (n > 1) return "twice!";
      cancel.abort();
      throw new Error("Stopped.");
    });
    expect((await make().run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");
    expect(calls).toHaveLength(1);
  });

  it("side by side ask about the second where the first may have happened", async () => {
    const { store, calls, make } = await codeOf(
      (ctx, act) => Promise.allSettled([ctx.call(act, { what: "a" }), ctx.call(act, { what: "a" })]),
      failing(() => new Error("Reset.")),
    );
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(await openWait(store)).toMatchObject({ kind: "approval", subject: { earlier: "r-1/code#0.1" } });
  });

  it("of a step that runs again are given their own rows back, and make no new ones", async () => {
    let broken = true;
    const { store, whats, make } = await codeOf(async (ctx, act) => {
      const results = [
        ...(await both(ctx, act)),
        await ctx.call(act, { what: "b" }),
        await ctx.call(act, { what: "a" }),
      ];
      if (broken) throw new Error("Interrupted.");
      return results;
    });
    await failureOf(make().run("Go", { runId: "r-1" }));
    const before = await store.listToolCalls("r-1");
    broken = false;
    expect((await make().resume("r-1")).output).toEqual(["done 1", "done 1", "done 2", "done 1"]);
    expect(whats).toEqual(["a", "b"]);
    expect(await store.listToolCalls("r-1")).toEqual(before);
    expect(before.map(({ status }) => status)).toEqual([
      "succeeded",
      "deduplicated",
      "succeeded",
      "deduplicated",
    ]);
  });

  it("of a step that runs again, after another had the effect, are still duplicates of that", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(undefined, { dedupe: "effect" });
    let broken = true;
    const pipeline = Pipeline.of(
      "p",
      Step.run("first", (_input: Json, ctx) => ctx.call(act, { what: "a" })),
      Step.run("second", async (_input: Json, ctx) => {
        const result = await ctx.call(act, { what: "a" });
        if (broken) throw new Error("Interrupted.");
        return result;
      }),
    );
    const runner = new Runner(pipeline, { store });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    broken = false;
    expect((await runner.resume("r-1")).output).toBe("done 1");
    expect(whats).toEqual(["a"]);
    expect(await rows(store)).toEqual([
      ["succeeded", null],
      ["deduplicated", "r-1/first#0.1"],
    ]);
  });

  it("have a large result whole, first, second and after a restart", async () => {
    let broken = true;
    const { store, calls, make } = await codeOf(
      async (ctx, act) => {
        const results = await both(ctx, act);
        if (broken) throw new Error("Interrupted.");
        return results.map((result) => JSON.stringify(result).length - 2);
      },
      () => "x".repeat(50_000),
    );
    await failureOf(make().run("Go", { runId: "r-1" }));
    broken = false;
    expect((await make().resume("r-1")).output).toEqual([50_000, 50_000]);
    expect(calls).toHaveLength(1);
    expect((await store.listToolCalls("r-1")).map(({ receipt }) => receipt?.blob?.size)).toEqual([
      50_002, 50_002,
    ]);
  });

  it("killed after two of four: those two are used and the others run, whatever the order", async () => {
    let order = ["a", "b", "c", "d"];
    const { whats, make } = await codeOf(
      (ctx, act) => Promise.all(order.map((what) => ctx.call(act, { what }))),
      (_n, call) => call.toolCallId.slice(-1),
      { dedupe: "call", recovery: "keyed" },
    );
    await failureOf(make({ probe: lightsOut("tool:before-receipt", 3) }).run("Go", { runId: "r-1" }));
    expect([...whats].sort()).toEqual(["a", "b", "c", "d"]);
    const done = whats.length;
    order = ["d", "c", "b", "a"];
    expect((await make().resume("r-1")).output).toEqual(["4", "3", "2", "1"]);
    expect(whats.length - done).toBeLessThanOrEqual(2);
  });
});
