// A call is as certain as the least certain of its attempts, and an uncertain call stays so in every step of the run.

import { describe, expect, it } from "vitest";
import {
  type CodeStepContext,
  type Json,
  NeedsHuman,
  NotApplied,
  Pipeline,
  type RecoveryClass,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
  type Tool,
} from "../../../src/index.ts";
import { failureOf, memoryStore, scriptedAgent } from "../run-fixture.ts";
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

/** The status of each call, and whether it may have happened anyway. */
async function certainties(store: Store) {
  const calls = await store.listToolCalls("r-1");
  return calls.map(({ status, receipt }) => [status, receipt?.uncertain ?? null]);
}

/** A run that makes the same call twice; `execute` reports the effects, by key. */
async function askedTwice(
  execute: (n: number, done: () => void) => unknown,
  options: { readonly recovery: RecoveryClass; readonly inDoubt?: "ask" | "tell" },
) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const done: string[] = [];
  const { act, calls } = actTool((n, call) => execute(n, () => done.push(call.idempotencyKey)), {
    ...options,
    reconcile: () => ({ status: "unknown" as const }),
  });
  const make = (more: RunnerOptions = {}) =>
    runnerOf(store, { act }, [acting("a"), acting("a")], { clock, ...more }).runner;
  return { store, done, calls, make };
}

/** The second of two equal calls waits for approval, and its question names the first. */
async function expectQuestionAboutSecond(store: Store) {
  expect(await certainties(store)).toEqual([
    ["failed", true],
    ["prepared", null],
  ]);
  expect(await openWait(store)).toMatchObject({
    kind: "possible_duplicate",
    toolCallId: "r-1/worker#2.1",
    subject: { earlier: "r-1/worker#1.1" },
  });
}

describe("a last attempt that did not apply", () => {
  it("does not outweigh a first one that may have happened: the same call needs approval", async () => {
    const { store, done, calls, make } = await askedTwice(
      (n, happen) => {
        if (n > 1) throw new NotApplied("503");
        happen();
        throw new Error("Reset after DATA.");
      },
      { recovery: "keyed" },
    );
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect([calls.length, done.length]).toEqual([3, 1]);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await ledger(store)).toEqual([
      ["failed", 3, "tool"],
      ["prepared", 0, null],
    ]);
    await expectQuestionAboutSecond(store);
  });

  it("does not outweigh one that was lost in a crash either", async () => {
    const { store, done, calls, make } = await askedTwice(
      (n, happen) => {
        if (n > 1) throw new NotApplied("503");
        happen();
        return "sent";
      },
      { recovery: "keyed" },
    );
    await failureOf(make({ probe: crashAt("tool:executed") }).run("Go", { runId: "r-1" }));
    expect((await make().resume("r-1")).status).toBe("waiting");
    expect([calls.length, done.length]).toEqual([3, 1]);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    await expectQuestionAboutSecond(store);
  });

  it("does not outweigh one whose failure was stored before a crash", async () => {
    const { store, calls, make } = await askedTwice(
      (n) => {
        throw n === 1 ? new Error("Reset after DATA.") : new NotApplied("503");
      },
      { recovery: "keyed" },
    );
    await failureOf(make({ probe: crashAt("tool:try-ended") }).run("Go", { runId: "r-1" }));
    expect((await make().resume("r-1")).status).toBe("waiting");
    expect(calls).toHaveLength(3);
    await expectQuestionAboutSecond(store);
  });

  it.each(["reconcile", "opaque"] as const)(
    "after a person's retry does not outweigh the attempt in doubt (%s)",
    async (recovery) => {
      const { store, done, calls, make } = await askedTwice(
        (n, happen) => {
          if (n > 1) throw new NotApplied("503");
          happen();
          return "sent";
        },
        { recovery },
      );
      await failureOf(make({ probe: crashAt("tool:executed") }).run("Go", { runId: "r-1" }));
      expect((await make().resume("r-1")).waits).toMatchObject([{ kind: "in_doubt" }]);
      await store.settle("r-1/worker#1.1", { as: "retry" });
      expect((await make().resume("r-1")).status).toBe("waiting");
      expect([calls.length, done.length]).toEqual([3, 1]);
      await expectQuestionAboutSecond(store);
    },
  );

  it("after a person's retry leaves the call in doubt if its worker dies", async () => {
    const { store, calls, make } = await askedTwice(
      (n) => {
        if (n > 1) throw new NotApplied("503");
        return "sent";
      },
      { recovery: "opaque" },
    );
    await failureOf(make({ probe: crashAt("tool:executed") }).run("Go", { runId: "r-1" }));
    await store.settle("r-1/worker#1.1", { as: "retry" });
    await failureOf(make({ probe: crashAt("tool:try-ended") }).resume("r-1"));
    expect((await make().resume("r-1")).waits).toMatchObject([{ kind: "in_doubt", attempt: 2 }]);
    expect(calls).toHaveLength(2);
  });

  it("is certain if none of the others can have happened: the same call may run again", async () => {
    const { store, calls, make } = await askedTwice(
      (n) => {
        if (n <= 3) throw new NotApplied("503");
        return "sent";
      },
      { recovery: "keyed" },
    );
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(calls).toHaveLength(4);
    expect(await certainties(store)).toEqual([
      ["failed", false],
      ["succeeded", false],
    ]);
  });
});

describe("two equal calls in one answer, the first interrupted after its effect", () => {
  it('are one effect even with inDoubt "tell": the second needs approval', async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(() => "sent", { dedupe: "effect", inDoubt: "tell" });
    const make = (more: RunnerOptions = {}) => runnerOf(store, { act }, [acting("a", "a")], more).runner;
    await failureOf(make({ probe: crashAt("tool:executed") }).run("Go", { runId: "r-1" }));
    expect((await make().resume("r-1")).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(await openWait(store)).toMatchObject({
      kind: "possible_duplicate",
      toolCallId: "r-1/worker#1.2",
      subject: { earlier: "r-1/worker#1.1" },
    });
    expect(await certainties(store)).toEqual([
      ["failed", true],
      ["prepared", null],
    ]);
  });
});

describe("a failure that may have happened in another step of the run", () => {
  /** Code that returns the result of its call. */
  const resultOrFailed = (act: Tool) => (ctx: CodeStepContext) =>
    ctx.call(act, { what: "refund 1" }).catch(() => "failed");

  /** Fails once, and its effect may have happened. */
  const failingOnce = () =>
    actTool((n) => {
      if (n === 1) throw new Error("Reset after DATA.");
      return `done ${n}`;
    });

  it("makes the same call ask there; after a success with consent, no further question is asked", async () => {
    const store = await memoryStore();
    const { act, calls } = failingOnce();
    const attempt = resultOrFailed(act);
    const step = (name: string) => Step.run(name, (_input: Json, ctx) => attempt(ctx));
    const pipeline = Pipeline.of("refund", step("one"), step("two"), step("three"));
    const make = () => new Runner(pipeline, { store });
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    const wait = await openWait(store);
    expect(wait).toMatchObject({
      kind: "possible_duplicate",
      toolCallId: "r-1/two#0.1",
      subject: { earlier: "r-1/one#0.1" },
    });
    await store.approve(wait.waitId);
    expect((await make().resume("r-1")).output).toBe("done 3");
    expect(calls.map(({ stepName }) => stepName)).toEqual(["one", "two", "three"]);
    expect(await store.listWaits("r-1")).toHaveLength(1);
  });

  it("makes the same call ask in the next iteration of a loop", async () => {
    const store = await memoryStore();
    const { act, calls } = failingOnce();
    const attempt = resultOrFailed(act);
    const body = Step.run("try", async (n: number, ctx) => {
      await attempt(ctx);
      return n + 1;
    });
    const loop = Step.loop("again", body, { until: (n) => n === 3, maxIterations: 5 });
    const make = () => new Runner(loop, { store });
    expect((await make().run(0, { runId: "r-1" })).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    const wait = await openWait(store);
    expect(wait).toMatchObject({
      toolCallId: "r-1/again[2]/try#0.1",
      subject: { earlier: "r-1/again[1]/try#0.1" },
    });
    await store.approve(wait.waitId);
    expect((await make().resume("r-1")).output).toBe(3);
    expect(calls).toHaveLength(3);
    expect(await store.listWaits("r-1")).toHaveLength(1);
  });

  it("of a code step makes an agent ask, also in another process", async () => {
    const store = await memoryStore();
    const { act, calls } = failingOnce();
    const attempt = resultOrFailed(act);
    const code = Step.run("code", (_input: Json, ctx) => attempt(ctx));
    const make = (more: RunnerOptions = {}) => {
      const { agent } = scriptedAgent([asking(["act", { what: "refund 1" }]), { text: "End." }], {
        tools: { act },
      });
      return new Runner(Pipeline.of("refund", code, Step.granular("worker", agent)), { store, ...more });
    };
    await failureOf(make({ probe: crashAt("step:finished") }).run("Go", { runId: "r-1" }));
    expect((await make().resume("r-1")).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(await openWait(store)).toMatchObject({ subject: { earlier: "r-1/code#0.1" } });
  });
});

describe("an escalation that is answered in words", () => {
  /** Escalates in its first call; the model then makes the same call again. */
  async function escalating(error: () => Error, more: RunnerOptions = {}) {
    const { store, calls, make } = await askedTwice(
      (n) => {
        if (n === 1) throw error();
        return "sent";
      },
      { recovery: "opaque" },
    );
    const { waits } = await make(more).run("Go", { runId: "r-1" });
    expect(waits).toMatchObject([{ kind: "escalation" }]);
    await store.answer("r-1~1", "I have looked, and do not know.");
    return { store, calls, ...(await make(more).resume("r-1")) };
  }

  it("leaves a call that kept failing uncertain: the same call needs approval", async () => {
    const { store, calls, status } = await escalating(() => new Error("Reset after DATA."), {
      maxSameErrorRepeats: 1,
    });
    expect([status, calls.length]).toEqual(["waiting", 1]);
    await expectQuestionAboutSecond(store);
  });

  it("leaves a call that threw NeedsHuman certain: the same call may run again", async () => {
    const { store, calls, status } = await escalating(() => new NeedsHuman("auth", "Log in, please."));
    expect([status, calls.length]).toEqual(["succeeded", 2]);
    expect(await certainties(store)).toEqual([
      ["failed", false],
      ["succeeded", false],
    ]);
  });
});
