// A tool that does not return in time: aborted, abandoned, and its late result is not lost.

import { describe, expect, it } from "vitest";
import type { RecoveryClass, RunnerOptions } from "../../../src/index.ts";
import { Runner, Step } from "../../../src/index.ts";
import { collect, must, toolResults } from "../run-fixture.ts";
import {
  acting,
  actTool,
  drainEventLoop,
  jumpingClock,
  ledger,
  openWait,
  runnerOf,
  timedStore,
} from "./call-fixture.ts";

const TIMEOUT = 5_000;
/** The timeout and the time that a tool has to stop. */
const GIVEN_UP = TIMEOUT + 1_000;

type Options = {
  readonly recovery?: RecoveryClass;
  readonly inDoubt?: "ask" | "tell";
  readonly hangs?: number;
};

/** A tool that hangs in its first `hangs` attempts, which the test may end later. */
async function hangingTool({ hangs = Number.POSITIVE_INFINITY, ...options }: Options = {}) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const ends: PromiseWithResolvers<unknown>[] = [];
  const { act, calls } = actTool(
    (n) => {
      if (n > hangs) return `done ${n}`;
      const end = Promise.withResolvers<unknown>();
      ends.push(end);
      void clock.advance(GIVEN_UP);
      return end.promise;
    },
    { timeoutMs: TIMEOUT, reconcile: () => ({ status: "unknown" }), ...options },
  );
  const make = (more: RunnerOptions = {}) => runnerOf(store, { act }, [acting("a")], { clock, ...more });
  return { store, clock, act, calls, ends, make, ...make() };
}

describe("a tool that never returns", () => {
  it.each(["repeat", "keyed"] as const)(
    "is abandoned and retried (%s) with the same key",
    async (recovery) => {
      const { runner, store, calls } = await hangingTool({ recovery, hangs: 2 });
      expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
      expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(await store.listToolCallAttempts("r-1")).toMatchObject([
        { attempt: 1, outcome: "timed_out", errorCode: "timeout" },
        {
          attempt: 2,
          outcome: "timed_out",
          errorDetail: "act did not end within 5000 ms and was given up on.",
        },
      ]);
    },
  );

  it.each([
    ["repeat", false],
    ["keyed", true],
  ] as const)(
    "has failed after the last attempt; uncertain for a %s tool: %s",
    async (recovery, uncertain) => {
      const { runner, store, calls } = await hangingTool({ recovery });
      expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
      expect(calls).toHaveLength(3);
      expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
        status: "failed",
        errorCode: "timeout",
        uncertain,
      });
    },
  );

  it("is in doubt if it is opaque: a person is asked, and it is not run again", async () => {
    const { runner, store, calls } = await hangingTool();
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(await openWait(store)).toMatchObject({
      kind: "in_doubt",
      subject: { problem: "act did not end within 5000 ms and was given up on." },
    });
    expect(await ledger(store)).toEqual([["in_doubt", 1, null]]);
  });

  it('is reported to the model in one clear sentence with inDoubt "tell"', async () => {
    const { runner, store, calls, prompts } = await hangingTool({ inDoubt: "tell" });
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[1])).toEqual([
      {
        type: "error-text",
        value: expect.stringMatching(
          /^It is unknown whether act happened: .+was given up on\. Look for its effect before you ask for it again\.$/,
        ) as string,
      },
    ]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      errorCode: "unknown_outcome",
      uncertain: true,
    });
  });

  it("is looked up if it has a look-up", async () => {
    const { runner, calls } = await hangingTool({ recovery: "reconcile" });
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    expect(events).toContainEqual(expect.objectContaining({ type: "tool.reconciled", status: "unknown" }));
    expect(calls).toHaveLength(1);
  });

  it("in a code step ends the code: a catch cannot swallow the doubt", async () => {
    const { store, clock, act } = await hangingTool();
    const code = Step.run("code", (_input, ctx) => ctx.call(act, { what: "a" }).catch(() => "swallowed"));
    const { status } = await new Runner(code, { store, clock }).run("Go", { runId: "r-1" });
    expect(status).toBe("waiting");
    expect(await openWait(store)).toMatchObject({ kind: "in_doubt", toolCallId: "r-1/code#0.1" });
  });

  it("does not keep the other calls of its turn from their receipts", async () => {
    const { store, clock, act } = await hangingTool();
    const quick = actTool(() => "quick", { name: "quick" }).act;
    const both = { toolCalls: ["act", "quick"].map((name) => ({ name, input: { what: "a" } })) };
    await runnerOf(store, { act, quick }, [both], { clock }).runner.run("Go", { runId: "r-1" });
    expect(await ledger(store)).toEqual([
      ["in_doubt", 1, null],
      ["succeeded", 1, "tool"],
    ]);
  });
});

describe("a tool that is aborted at its timeout", () => {
  async function stopped(onAbort: (reason: unknown) => unknown, recovery: RecoveryClass = "opaque") {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(
      (_n, call) =>
        new Promise((resolve, reject) => {
          call.signal.addEventListener("abort", () => {
            Promise.resolve()
              .then(() => onAbort(call.signal.reason))
              .then(resolve, reject);
          });
          void clock.advance(TIMEOUT);
        }),
      { timeoutMs: TIMEOUT, recovery, reconcile: () => ({ status: "unknown" }) },
    );
    const { runner } = runnerOf(store, { act }, [acting("a")], { clock, maxRetriesPerToolCall: 0 });
    const { status } = await runner.run("Go", { runId: "r-1" });
    return { store, status, calls, clock };
  }

  it("gets a TimeoutError, and its outcome is unknown if it rejects with that", async () => {
    const { store, status } = await stopped((reason) => {
      expect(reason).toMatchObject({ name: "TimeoutError" });
      throw reason;
    });
    expect(status).toBe("waiting");
    expect(await store.listToolCallAttempts("r-1")).toMatchObject([
      { outcome: "timed_out", errorCode: "timeout" },
    ]);
  });

  it("has succeeded if it returns within the grace period", async () => {
    const { store, status } = await stopped(() => "just in time");
    expect(status).toBe("succeeded");
    expect(await ledger(store)).toEqual([["succeeded", 1, "tool"]]);
  });

  it("has ended when it rejects: its landing time starts then", async () => {
    const { store, clock } = await stopped(() => Promise.reject(new Error("Stopped.")), "reconcile");
    expect((await store.listToolCalls("r-1"))[0]?.endsBy).toBe(clock.now());
  });
});

describe("a late result of an abandoned tool call", () => {
  it("settles the doubt: the question is withdrawn, and the run continues with it", async () => {
    const { runner, store, calls, ends, make } = await hangingTool();
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    must(ends[0]).resolve("late mail");
    await drainEventLoop();
    expect(await ledger(store)).toEqual([["succeeded", 1, "late"]]);
    expect((await store.getRun("r-1"))?.status).toBe("queued");
    expect((await store.listWaits("r-1")).map(({ status }) => status)).toEqual(["withdrawn"]);

    const again = make();
    expect((await again.runner.resume("r-1")).output).toBe("End.");
    expect(toolResults(again.prompts[0])).toEqual([{ type: "text", value: "late mail" }]);
    expect(calls).toHaveLength(1);
  });

  it("is only evidence if a person has settled the call meanwhile", async () => {
    const { runner, store, ends, make } = await hangingTool();
    await runner.run("Go", { runId: "r-1" });
    await store.settle("r-1/worker#1.1", { as: "failed", why: "Not in the outbox." });
    must(ends[0]).resolve("late mail");
    await drainEventLoop();
    expect(await ledger(store)).toEqual([["failed", 1, "person"]]);
    expect(await store.listToolCallAttempts("r-1")).toMatchObject([
      { attempt: 1, late: { status: "succeeded", output: { type: "text", value: "late mail" } } },
    ]);
    expect((await make().runner.resume("r-1")).output).toBe("End.");
  });

  it("is only evidence if another attempt has succeeded", async () => {
    const { runner, store, ends } = await hangingTool({ recovery: "keyed", hangs: 1 });
    await runner.run("Go", { runId: "r-1" });
    must(ends[0]).resolve("late mail");
    await drainEventLoop();
    expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
    expect(await store.listToolCallAttempts("r-1")).toMatchObject([
      { attempt: 1, late: { output: { value: "late mail" } } },
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("changes nothing if it is an error", async () => {
    const { runner, store, ends } = await hangingTool();
    await runner.run("Go", { runId: "r-1" });
    must(ends[0]).reject(new Error("Gone."));
    await drainEventLoop();
    expect(await ledger(store)).toEqual([["in_doubt", 1, null]]);
    expect((await openWait(store)).kind).toBe("in_doubt");
  });

  it("is stored like any other receipt if it is large or no JSON", async () => {
    for (const [late, status] of [["x".repeat(30_000), "succeeded"] as const, [7n, "failed"] as const]) {
      const { runner, store, ends } = await hangingTool();
      await runner.run("Go", { runId: "r-1" });
      must(ends[0]).resolve(late);
      await drainEventLoop();
      expect(await ledger(store)).toEqual([[status, 1, "late"]]);
    }
  });

  it("is dropped without an error after the store was closed", async () => {
    const { runner, store, ends } = await hangingTool();
    await runner.run("Go", { runId: "r-1" });
    await store.close({ graceMs: 0 });
    must(ends[0]).resolve("late mail");
    await drainEventLoop();
  });
});
