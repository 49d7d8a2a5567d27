// Equal calls side by side, in one model answer or in one code step: the first decides for the others.

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
import { acting, actTool, crashAt, jumpingClock, openWait, runnerOf, timedStore } from "./call-fixture.ts";

async function rows(store: Store) {
  const calls = await store.listToolCalls("r-1");
  return calls.map(({ status, receipt }) => [status, receipt?.duplicateOf ?? null]);
}

type Execute = (n: number, call: ToolCallContext) => unknown;
type Options = Parameters<typeof actTool>[1];

/** One answer with the same call twice. */
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
  it("are one effect and two rows: the second waits for the first and gets its receipt", async () => {
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

  it('are two effects with dedupe "call"', async () => {
    const { store, calls, runner } = await twice(undefined, { dedupe: "call" });
    await runner.run("Go", { runId: "r-1" });
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
    expect((await rows(store)).map(([status]) => status)).toEqual(["succeeded", "succeeded"]);
  });

  it('need approval for the second, even with dedupe "call", if the first may have happened before the second began', async () => {
    const lost = failing(() => new Error("The line went dead."));
    const { store, calls, runner } = await twice(lost, { dedupe: "call" }, { maxParallelToolCalls: 1 });
    const { waits } = await runner.run("Go", { runId: "r-1" });
    expect(waits.map(({ kind, toolCallId }) => [kind, toolCallId])).toEqual([
      ["possible_duplicate", "r-1/worker#1.2"],
    ]);
    expect(calls).toHaveLength(1);
    await store.approve("r-1~1");
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(2);
  });

  it("both run if the first certainly failed", async () => {
    const busy = failing(() => new NotApplied("Busy."));
    const { calls, runner, prompts } = await twice(busy, {}, { maxRetriesPerToolCall: 0 });
    await runner.run("Go", { runId: "r-1" });
    expect(calls.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/worker#1.1", "r-1/worker#1.2"]);
    expect(toolResults(prompts[1])).toMatchObject([{ value: "Busy." }, { value: "done 2" }]);
  });

  it("need approval for the second if the first may have happened", async () => {
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

  it("ask for approval once; when approved, the first runs and the second is its duplicate", async () => {
    const { store, calls, make } = await twice(undefined, { approval: true });
    const { waits } = await make().runner.run("Go", { runId: "r-1" });
    expect(waits.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/worker#1.1"]);
    await store.approve((await openWait(store)).waitId);
    expect((await make().runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect((await rows(store))[1]).toEqual(["deduplicated", "r-1/worker#1.1"]);
  });

  it("run neither if the first was denied and the second was not approved", async () => {
    const { store, calls, make } = await twice(undefined, { approval: true });
    await make().runner.run("Go", { runId: "r-1" });
    await store.deny((await openWait(store)).waitId, "No.");
    await make().runner.resume("r-1");
    expect(calls).toEqual([]);
    expect((await rows(store))[0]).toEqual(["cancelled", null]);
  });

  it("both wait while the first is in doubt; once it is settled as done, the second is its duplicate", async () => {
    const { store, calls, make } = await twice();
    await failureOf(make({ probe: crashAt("tool:executed") }).runner.run("Go", { runId: "r-1" }));
    const { waits } = await make().runner.resume("r-1");
    expect(waits.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/worker#1.1"]);
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: "by hand" });
    const { runner, prompts } = make();
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[0])).toMatchObject([{ value: "by hand" }, { value: "by hand" }]);
  });

  it("are one effect if the run was cancelled during the first", async () => {
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
    "are one effect wherever the process crashes (%s)",
    async (point) => {
      const { store, calls, make } = await twice(undefined, { recovery: "keyed" });
      await failureOf(make({ probe: crashAt(point) }).runner.run("Go", { runId: "r-1" }));
      expect((await make().runner.resume("r-1")).output).toBe("End.");
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(await rows(store)).toEqual([
        ["succeeded", null],
        ["deduplicated", "r-1/worker#1.1"],
      ]);
    },
  );
});

describe("equal calls of a code step", () => {
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

  it("in parallel are one effect, two rows, and the same result twice", async () => {
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

  it("in parallel ask for approval once and are then one effect", async () => {
    const { store, calls, make } = await codeOf(both, undefined, { approval: true });
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(waits).toHaveLength(1);
    await store.approve((await openWait(store)).waitId);
    expect((await make().resume("r-1")).output).toEqual(["done 1", "done 1"]);
    expect(calls).toHaveLength(1);
  });

  it("in parallel do not run one after the other if the first is in doubt", async () => {
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

  it("in parallel do not run one after the other if the run was cancelled during the first", async () => {
    const cancel = new AbortController();
    const { calls, make } = await codeOf(both, (n) => {
      if (n > 1) return "twice!";
      cancel.abort();
      throw new Error("Stopped.");
    });
    expect((await make().run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");
    expect(calls).toHaveLength(1);
  });

  it("in parallel ask about the second if the first may have happened", async () => {
    const { store, calls, make } = await codeOf(
      (ctx, act) => Promise.allSettled([ctx.call(act, { what: "a" }), ctx.call(act, { what: "a" })]),
      failing(() => new Error("Reset.")),
    );
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(await openWait(store)).toMatchObject({
      kind: "possible_duplicate",
      subject: { earlier: "r-1/code#0.1" },
    });
  });

  it("reuse their rows when the step runs again, and add none", async () => {
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

  it("stay duplicates of an earlier step's call when their step runs again", async () => {
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

  it("return a large result whole: first, second and after a restart", async () => {
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

  it("reuse two stored receipts after a crash and run the other two calls, in any order", async () => {
    let order = ["a", "b", "c", "d"];
    const { whats, make } = await codeOf(
      (ctx, act) => Promise.all(order.map((what) => ctx.call(act, { what }))),
      (_n, call) => call.toolCallId.slice(-1),
      { dedupe: "call", recovery: "keyed" },
    );
    await failureOf(make({ probe: crashAt("tool:before-receipt", 3) }).run("Go", { runId: "r-1" }));
    expect([...whats].sort()).toEqual(["a", "b", "c", "d"]);
    const done = whats.length;
    order = ["d", "c", "b", "a"];
    expect((await make().resume("r-1")).output).toEqual(["4", "3", "2", "1"]);
    expect(whats.length - done).toBeLessThanOrEqual(2);
  });
});
