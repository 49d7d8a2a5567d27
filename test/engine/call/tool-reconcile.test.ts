// A tool with a look-up: the outside world is asked before anything is repeated.

import { describe, expect, it } from "vitest";
import {
  PausedError,
  PipelineAbortError,
  type Reconciliation,
  Runner,
  Step,
  type ToolCallContext,
} from "../../../src/index.ts";
import { collect, failureAs, failureOf, must, toolResults } from "../run-fixture.ts";
import {
  acting,
  actTool,
  crashAt,
  jumpingClock,
  ledger,
  openWait,
  runnerOf,
  timedStore,
} from "./call-fixture.ts";

const MINUTE = 60_000;

type Answer = unknown;
type Options = {
  readonly answers: readonly Answer[];
  /** Which attempts throw; by default only the first. */
  readonly fails?: (n: number) => boolean;
  readonly inDoubt?: "ask" | "tell";
  readonly landsWithinMs?: number;
  readonly timeoutMs?: number;
};

const answered = (status: "absent" | "unknown"): Reconciliation<never> => ({ status });
const found = (result: unknown): Reconciliation<unknown> => ({ status: "done", result });

/** A mailer whose connection breaks after it accepted the mail, and the answers of its look-ups, in order. */
async function mailer({ answers, fails = (n) => n === 1, ...options }: Options) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const order: string[] = [];
  const left = [...answers];
  const asked: { input: unknown; call: ToolCallContext }[] = [];
  const { act, calls } = actTool(
    (n) => {
      order.push(`send ${n}`);
      if (n > 10) throw new PipelineAbortError("This does not end.");
      if (fails(n)) throw new Error("Connection reset.");
      return `sent ${n}`;
    },
    {
      recovery: "reconcile",
      ...options,
      reconcile: (input, call) => {
        order.push("look");
        asked.push({ input, call });
        const answer = left.length > 1 ? left.shift() : left[0];
        return (typeof answer === "function" ? answer(call) : answer) as Reconciliation<unknown>;
      },
    },
  );
  const turns = [acting("a")];
  const make = (more: Parameters<typeof runnerOf>[3] = {}) =>
    runnerOf(store, { act }, turns, { clock, ...more });
  return { store, clock, order, asked, calls, act, make, ...make() };
}

describe("a call that threw", () => {
  it("is looked up first; what is found becomes its receipt, and it is not run again", async () => {
    const { runner, store, order, asked, calls, prompts } = await mailer({ answers: [found({ id: "m-1" })] });
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(order).toEqual(["send 1", "look"]);
    expect(toolResults(prompts[1])).toEqual([{ type: "json", value: { id: "m-1" } }]);
    expect(await ledger(store)).toEqual([["succeeded", 1, "reconciled"]]);
    expect(await store.listToolCallAttempts("r-1")).toMatchObject([
      { attempt: 1, outcome: "failed", errorDetail: "Connection reset." },
    ]);
    // The look-up gets the arguments, the key and the attempt.
    const [{ input, call }] = [must(asked[0])];
    expect(input).toEqual({ what: "a" });
    expect([call.idempotencyKey, call.attempt]).toEqual([calls[0]?.idempotencyKey, 1]);
  });

  it("is run again if it is absent, but only when the first attempt cannot land any more", async () => {
    const { runner, store, order, clock, calls } = await mailer({ answers: [answered("absent")] });
    const began = clock.now();
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    // It had ended when it threw, so it can land for a minute from then.
    expect(clock.slept[0]).toBe(MINUTE);
    expect(order).toEqual(["send 1", "look", "look", "send 2"]);
    expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey);
    expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
    expect(events.filter(({ type }) => /reconciled|waiting/.test(type))).toMatchObject([
      { type: "tool.reconciled", status: "absent" },
      { type: "tool.waiting", until: began + MINUTE },
      { type: "tool.reconciled", status: "absent" },
    ]);
  });

  it("is not run again earlier because the wall clock was set forward", async () => {
    const jump = () => {
      mail.clock.setWall(mail.clock.now() + 60 * MINUTE);
      return answered("absent");
    };
    const mail = await mailer({ answers: [jump, answered("absent")] });
    await mail.runner.run("Go", { runId: "r-1" });
    expect(mail.order).toEqual(["send 1", "look", "look", "send 2"]);
    expect(mail.clock.slept[0]).toBe(MINUTE);
  });

  it("is adopted if it landed during that wait", async () => {
    const { runner, store, order } = await mailer({ answers: [answered("absent"), found("late mail")] });
    await runner.run("Go", { runId: "r-1" });
    expect(order).toEqual(["send 1", "look", "look"]);
    expect(await ledger(store)).toEqual([["succeeded", 1, "reconciled"]]);
  });

  it("has finally failed and did not happen if it is absent after the last attempt", async () => {
    const { runner, store, order } = await mailer({ answers: [answered("absent")], fails: () => true });
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(order.filter((what) => what !== "look")).toEqual(["send 1", "send 2", "send 3"]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "failed", attempt: 3, receipt: { uncertain: false } },
    ]);
  });

  it("waits for a person if the look-up returns unknown", async () => {
    const { runner, store, order } = await mailer({ answers: [answered("unknown")] });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(order).toEqual(["send 1", "look"]);
    expect(await openWait(store)).toMatchObject({
      kind: "in_doubt",
      toolCallId: "r-1/worker#1.1",
      subject: { tool: "act", recovery: "reconcile", arguments: { what: "a" } },
    });
  });

  it('is reported to the model with inDoubt "tell" if the look-up returns unknown', async () => {
    const { runner, store, prompts } = await mailer({ answers: [answered("unknown")], inDoubt: "tell" });
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(toolResults(prompts[1])).toEqual([
      { type: "error-text", value: expect.stringMatching(/^It is unknown whether act happened/) as string },
    ]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "failed", receipt: { errorCode: "unknown_outcome", uncertain: true } },
    ]);
  });

  it("counts as happened if it is found with a result that cannot be stored", async () => {
    const { runner, store, prompts } = await mailer({ answers: [found({ n: 1n })] });
    await runner.run("Go", { runId: "r-1" });
    expect(toolResults(prompts[1])).toMatchObject([
      { value: expect.stringContaining("do not call it again") },
    ]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "failed", receipt: { source: "reconciled", errorCode: "result_not_json", uncertain: true } },
    ]);
  });

  it("stores the correlation id that the look-up sets", async () => {
    const answer = (call: ToolCallContext) => {
      void call.correlate("<m-1@example.org>");
      return found("there");
    };
    const { runner, store } = await mailer({ answers: [answer] });
    await runner.run("Go", { runId: "r-1" });
    expect((await store.listToolCalls("r-1"))[0]?.receipt?.correlationId).toBe("<m-1@example.org>");
  });
});

describe("a call that is settled during its landing time", () => {
  /** The clock, with a person who settles the call at the first sleep. */
  function settling({ store, clock }: Awaited<ReturnType<typeof mailer>>, toolCallId: string) {
    let isSettled = false;
    const sleep = async (ms: number) => {
      if (!isSettled) await store.settle(toolCallId, { as: "succeeded", result: "by hand" });
      isSettled = true;
      await clock.advance(ms);
    };
    return { clock: { ...clock, sleep } };
  }

  it("by a person: the model gets that result, and nothing is run", async () => {
    const made = await mailer({ answers: [answered("absent")] });
    const { runner, prompts } = made.make(settling(made, "r-1/worker#1.1"));
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(made.calls).toHaveLength(1);
    expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "by hand" }]);
    expect(await ledger(made.store)).toEqual([["succeeded", 1, "person"]]);
  });

  it("by a person, in a code step: the code gets that result, and nothing is run", async () => {
    const made = await mailer({ answers: [answered("absent")] });
    const { store, act, calls } = made;
    const code = Step.run("code", (_input, ctx) => ctx.call(act, { what: "a" }));
    const runner = new Runner(code, { store, random: () => 0, ...settling(made, "r-1/code#0.1") });
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("by hand");
    expect(calls).toHaveLength(1);
  });
});

describe("a look-up without a clear answer", () => {
  const rubbish: [string, Answer, RegExp][] = [
    ["throws", () => Promise.reject(new Error("Outbox closed.")), /Outbox closed/],
    ["throws at once", () => must(null), /Expected a value/],
    ["returns nothing", undefined, /did not return done, absent or unknown/],
    ["returns an empty object", {}, /did not return done/],
    ["returns a string", "done", /did not return done/],
    ["returns an unknown status", { status: "maybe" }, /did not return done/],
  ];

  it.each(rubbish)(
    "(%s) is repeated with pauses, and then a person is asked",
    async (_name, answer, words) => {
      const { runner, store, order, clock } = await mailer({ answers: [answer] });
      expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
      expect(order).toEqual(["send 1", "look", "look", "look"]);
      expect(clock.slept).toEqual([250, 500]);
      expect(await openWait(store)).toMatchObject({
        kind: "in_doubt",
        subject: { problem: expect.stringMatching(words) as string },
      });
    },
  );

  it("(never returns) times out, is repeated, and then a person is asked", async () => {
    const { runner, store, order, clock } = await mailer({
      timeoutMs: 5_000,
      answers: [
        () => {
          void clock.advance(7_000);
          return new Promise(() => undefined);
        },
      ],
    });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(order).toEqual(["send 1", "look", "look", "look"]);
    expect((await openWait(store)).subject.problem).toMatch(/did not end within 5000 ms/);
  });

  it("is repeated, and a clear second answer counts", async () => {
    const { runner, store, order } = await mailer({ answers: [() => must(null), found("there")] });
    await runner.run("Go", { runId: "r-1" });
    expect(order).toEqual(["send 1", "look", "look"]);
    expect(await ledger(store)).toEqual([["succeeded", 1, "reconciled"]]);
  });

  it("that throws a control error stops the run, and the call stays in doubt", async () => {
    const pause = () => {
      throw new PausedError("Tomorrow.");
    };
    const { runner, store, make } = await mailer({ answers: [pause, found("there")] });
    await failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    expect(await ledger(store)).toEqual([["in_doubt", 1, null]]);
    expect((await make().runner.resume("r-1")).output).toBe("End.");
  });
});

describe("a call whose worker died", () => {
  it("counts as ended at that moment, and can land for landsWithinMs after it", async () => {
    const { store, order, clock, make } = await mailer({
      answers: [answered("absent")],
      fails: () => false,
      timeoutMs: 5_000,
      landsWithinMs: 1_000,
    });
    await failureOf(make({ probe: crashAt("tool:executed") }).runner.run("Go", { runId: "r-1" }));
    await clock.advance(400);
    expect((await make().runner.resume("r-1")).output).toBe("End.");
    expect(order).toEqual(["send 1", "look", "look", "send 2"]);
    expect(clock.slept).toEqual([600]);
    expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
  });

  it("is run again at once if it is absent long after", async () => {
    const { order, clock, make } = await mailer({ answers: [answered("absent")], fails: () => false });
    await failureOf(make({ probe: crashAt("tool:executed") }).runner.run("Go", { runId: "r-1" }));
    await clock.advance(60 * MINUTE);
    await make().runner.resume("r-1");
    expect(order).toEqual(["send 1", "look", "send 2"]);
    expect(clock.slept).toEqual([]);
  });

  it("is run again without a look-up after a person's retry; the next doubt needs a new decision", async () => {
    const { store, order, make } = await mailer({ answers: [answered("unknown")], fails: () => true });
    await make().runner.run("Go", { runId: "r-1" });
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await make().runner.resume("r-1")).status).toBe("waiting");
    expect(order).toEqual(["send 1", "look", "send 2", "look"]);
    expect(await openWait(store)).toMatchObject({ kind: "in_doubt", attempt: 2 });
    // Another resume without a new decision does not use the old one.
    expect((await make().runner.resume("r-1")).status).toBe("waiting");
    expect(order.filter((what) => what.startsWith("send"))).toHaveLength(2);
  });
});
