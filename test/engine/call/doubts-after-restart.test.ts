// Calls left behind by a dead, stopped or changed worker: they are judged again on resume and never skipped.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type CodeStepContext,
  type Json,
  NotApplied,
  Runner,
  type RunnerOptions,
  Step,
  type Tool,
  tool,
} from "../../../src/index.ts";
import { failureOf, memoryStore, toolResults } from "../run-fixture.ts";
import {
  acting,
  actTool,
  asking,
  crashAt,
  jumpingClock,
  ledger,
  openWait,
  runnerOf,
  timedStore,
} from "./call-fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("an idempotency key with limited validity", () => {
  /**
   * The first attempt happened and its receipt was lost; the second did not apply, and then the process crashed
   * again.
   */
  async function twiceInterrupted(more: NonNullable<Parameters<typeof actTool>[1]> = {}) {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(
      (n) => {
        if (n === 2) throw new NotApplied("503");
        return `sent ${n}`;
      },
      { recovery: "keyed", keyValidForMs: MINUTE, ...more },
    );
    const make = (options: RunnerOptions = {}) =>
      runnerOf(store, { act }, [acting("a")], { clock, ...options });
    await failureOf(make({ probe: crashAt("tool:executed") }).runner.run("Go", { runId: "r-1" }));
    await failureOf(make({ probe: crashAt("tool:try-ended") }).runner.resume("r-1"));
    expect(calls).toHaveLength(2);
    return { clock, store, calls, ...make() };
  }

  it("does not cover another attempt after it expired, although the last one did not apply: a person is asked", async () => {
    const { clock, store, calls, runner } = await twiceInterrupted();
    await clock.advance(HOUR);
    expect((await runner.resume("r-1")).status).toBe("waiting");
    expect(await openWait(store)).toMatchObject({ kind: "in_doubt", toolCallId: "r-1/worker#1.1" });
    expect(calls).toHaveLength(2);
  });

  it("does not cover another attempt after it expired, although the last one did not apply: the call is looked up", async () => {
    const { clock, store, calls, runner } = await twiceInterrupted({
      reconcile: () => ({ status: "done" as const, result: "found" }),
    });
    await clock.advance(HOUR);
    expect((await runner.resume("r-1")).status).toBe("succeeded");
    expect(calls).toHaveLength(2);
    expect(await ledger(store)).toEqual([["succeeded", 2, "reconciled"]]);
  });

  it("covers the next attempt while it is valid", async () => {
    const { store, calls, runner } = await twiceInterrupted();
    expect((await runner.resume("r-1")).status).toBe("succeeded");
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await ledger(store)).toEqual([["succeeded", 3, "tool"]]);
  });

  it("is not sent if it expired while its call was queued", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, whats } = actTool(
      async (n, _call, what) => {
        if (n > 2 && what === "a") await clock.sleep(2 * MINUTE);
        return "sent";
      },
      { recovery: "keyed", keyValidForMs: MINUTE },
    );
    const make = (more: RunnerOptions = {}) =>
      runnerOf(store, { act }, [acting("a", "b")], { clock, leaseMs: HOUR, ...more }).runner;
    const probe: RunnerOptions["probe"] = (point) => {
      if (point === "tool:executed") throw new Error("The process crashed.");
    };
    await failureOf(make({ probe }).run("Go", { runId: "r-1" }));
    expect(whats).toEqual(["a", "b"]);
    expect((await make({ maxParallelToolCalls: 1 }).resume("r-1")).status).toBe("waiting");
    expect(whats).toEqual(["a", "b", "a"]);
    expect(await openWait(store)).toMatchObject({ kind: "in_doubt", toolCallId: "r-1/worker#1.2" });
  });
});

describe("a slow look-up", () => {
  it("is repeated if it began while the call could still land, and finds what landed meanwhile", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const landed: string[] = [];
    let looks = 0;
    const { act, calls } = actTool(
      (n) => {
        if (n === 1) throw new Error("Reset.");
        landed.push(`try ${n}`);
        return "sent";
      },
      {
        recovery: "reconcile",
        landsWithinMs: MINUTE,
        timeoutMs: HOUR,
        reconcile: async () => {
          const seen = landed.length;
          if (++looks === 1) {
            await clock.sleep(MINUTE - 1);
            landed.push("try 1");
            await clock.sleep(2);
          }
          return seen > 0 ? { status: "done", result: "found" } : { status: "absent" };
        },
      },
    );
    const { runner } = runnerOf(store, { act }, [acting("a")], { clock, leaseMs: HOUR });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect([landed, looks, calls.length]).toEqual([["try 1"], 2, 1]);
    expect(await ledger(store)).toEqual([["succeeded", 1, "reconciled"]]);
  });
});

describe("a run that is cancelled right before a call is dispatched", () => {
  it("leaves the call without a receipt, and executes it once when resumed, even with no retries", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(() => "sent");
    const make = (more: RunnerOptions = {}) =>
      runnerOf(store, { act }, [acting("a")], { clock, maxRetriesPerToolCall: 0, ...more });
    const controller = new AbortController();
    const stopping = make({
      probe: (point) => {
        if (point === "tool:before-execute") controller.abort();
      },
    });
    const { status } = await stopping.runner.run("Go", { runId: "r-1", signal: controller.signal });
    expect([status, calls.length]).toEqual(["cancelled", 0]);
    expect((await store.listToolCalls("r-1")).map(({ receipt }) => receipt)).toEqual([null]);
    const { runner, prompts } = make();
    expect((await runner.resume("r-1")).status).toBe("succeeded");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[0])).toEqual([{ type: "text", value: "sent" }]);
  });
});

describe("an interrupted approved call whose arguments now parse differently", () => {
  async function changed(recovery: "keyed" | "opaque") {
    const store = await memoryStore();
    const paid: number[] = [];
    let factor = 1;
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({ amount: z.number().transform((amount) => amount * factor) }),
      effect: "external",
      approval: true,
      recovery,
      execute: ({ amount }) => {
        paid.push(amount);
        return `paid ${amount}`;
      },
    });
    const make = (more: RunnerOptions = {}) =>
      runnerOf(store, { pay }, [asking(["pay", { amount: 5 }])], more).runner;
    await make().run("Go", { runId: "r-1" });
    await store.approve("r-1~1");
    await failureOf(make({ probe: crashAt("tool:executed") }).resume("r-1"));
    expect(paid).toEqual([5]);
    factor = 2;
    return { store, paid, make };
  }
  const newApproval = {
    kind: "approval",
    question: "The arguments of pay are not those that were approved. May it run with these?",
    subject: { arguments: { amount: 10 } },
  };

  it("needs a new approval, and then runs with the new arguments", async () => {
    const { store, paid, make } = await changed("keyed");
    expect((await make().resume("r-1")).waits).toMatchObject([newApproval]);
    expect(paid).toEqual([5]);
    await store.approve((await openWait(store)).waitId);
    expect((await make().resume("r-1")).status).toBe("succeeded");
    expect(paid).toEqual([5, 10]);
    expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
  });

  it("needs a new approval after a person's retry too", async () => {
    const { store, paid, make } = await changed("opaque");
    expect((await make().resume("r-1")).waits).toMatchObject([{ kind: "in_doubt" }]);
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await make().resume("r-1")).waits).toMatchObject([newApproval]);
    expect(paid).toEqual([5]);
    await store.approve((await openWait(store)).waitId);
    expect((await make().resume("r-1")).status).toBe("succeeded");
    expect(paid).toEqual([5, 10]);
  });

  it("does not run if the new arguments are denied, and the run continues", async () => {
    const { store, paid, make } = await changed("keyed");
    await make().resume("r-1");
    await store.deny((await openWait(store)).waitId, "Not that much.");
    // It may have happened with the old arguments, so it cannot be treated as never made.
    expect((await make().resume("r-1")).waits).toMatchObject([{ kind: "in_doubt" }]);
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: "paid 5" });
    expect((await make().resume("r-1")).status).toBe("succeeded");
    expect(paid).toEqual([5]);
  });
});

describe("a code step that runs again after its call was interrupted", () => {
  async function codeOf(act: Tool, code: (ctx: CodeStepContext) => unknown) {
    const store = await memoryStore();
    const step = Step.run("code", async (_input: Json, ctx) => (await code(ctx)) as Json);
    const make = (more: RunnerOptions = {}) => new Runner(step, { store, ...more });
    await failureOf(make({ probe: crashAt("tool:executed") }).run("Go", { runId: "r-1" }));
    expect(await ledger(store)).toEqual([["in_doubt", 1, null]]);
    expect((await store.listToolCalls("r-1"))[0]?.tool).toBe(act.name);
    return { store, make };
  }

  it("cannot hide the doubt by catching a configuration error of its tool: a person is asked", async () => {
    let cut = false;
    let paid = 0;
    const pay = tool({
      name: "pay",
      description: "Pays.",
      effect: "external",
      requiresIdempotencyKey: true,
      inputSchema: z.object({
        amount: z.number(),
        idempotencyKey: z
          .string()
          .optional()
          .transform((key) => (cut ? key?.slice(0, 8) : key)),
      }),
      execute: () => ++paid,
    });
    const { store, make } = await codeOf(pay, (ctx) =>
      ctx.call(pay, { amount: 1 }).catch(() => "could not pay"),
    );
    cut = true;
    expect((await make().resume("r-1")).status).toBe("waiting");
    expect(await openWait(store)).toMatchObject({ kind: "in_doubt", toolCallId: "r-1/code#0.1" });
    await store.settle("r-1/code#0.1", { as: "succeeded", result: "by hand" });
    expect((await make().resume("r-1")).output).toBe("by hand");
    expect(paid).toBe(1);
  });

  it("asks no one about an interrupted read that it no longer makes", async () => {
    let at = 0;
    const { act, whats } = actTool(() => "noon", { effect: "read_only" });
    const { store, make } = await codeOf(act, (ctx) => ctx.call(act, { what: `time ${++at}` }));
    expect((await make().resume("r-1")).output).toBe("noon");
    expect(whats).toEqual(["time 1", "time 2"]);
    expect(await store.listWaits("r-1")).toEqual([]);
  });

  it("ends if it no longer makes a call that a person let run again: that call failed and may have happened", async () => {
    let asks = true;
    const { act, calls } = actTool(() => "sent", { dedupe: "effect" });
    const { store, make } = await codeOf(act, (ctx) => (asks ? ctx.call(act, { what: "a" }) : "skipped"));
    asks = false;
    expect((await make().resume("r-1")).waits).toMatchObject([{ kind: "in_doubt" }]);
    await store.settle("r-1/code#0.1", { as: "retry" });
    expect((await make().resume("r-1")).output).toBe("skipped");
    expect(calls).toHaveLength(1);
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "failed",
      errorCode: "not_asked_for",
      uncertain: true,
      source: "pawl",
    });
    expect((await store.verify("r-1")).problems).toEqual([]);
  });
});
