// A tool that throws: retried if that is safe, always with the same key, and final otherwise.

import { describe, expect, it } from "vitest";
import { NotApplied, type RecoveryClass, type Store } from "../../../src/index.ts";
import { collect, failureOf, memoryStore, must, toolResults } from "../run-fixture.ts";
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

const RECOVERIES: readonly RecoveryClass[] = ["repeat", "keyed", "reconcile", "opaque"];

/** A tool of this class that throws these errors. Looking up a call fails the test. */
function failingTool(recovery: RecoveryClass, failure: (n: number) => unknown) {
  return actTool(
    (n) => {
      const thrown = failure(n);
      return thrown === null ? "finally done" : raise(thrown);
    },
    { recovery, reconcile: () => Promise.reject(new Error("A look-up was not expected.")) },
  );
}

function raise(thrown: unknown): never {
  throw thrown;
}

function unreadable(): Error {
  return Object.defineProperty(new Error("x"), "message", { get: () => must(null) });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const untilAttempt = (n: number, error: () => unknown) => (attempt: number) => (attempt < n ? error() : null);

async function storedAttempts(store: Store) {
  const kept = await store.listToolCallAttempts("r-1");
  return kept.map(({ attempt, outcome, errorDetail }) => [attempt, outcome, errorDetail]);
}

describe("a tool that must not be repeated and throws", () => {
  it.each<[string, unknown, string]>([
    ["an error", new Error("The mailbox is full."), "The mailbox is full."],
    ["a string", "just words", "just words"],
    ["undefined", undefined, "undefined"],
    ["an object", { status: 503 }, '{"status":503}'],
    ["an error that cannot be read", unreadable(), expect.any(String) as string],
    ["a revoked proxy", revoked(), expect.any(String) as string],
  ])("%s has failed finally and may have happened", async (_name, thrown, words) => {
    const store = await memoryStore();
    const { act, calls } = failingTool("opaque", () => thrown);
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);

    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");

    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[1])).toEqual([{ type: "error-text", value: words }]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "failed", receipt: { errorCode: "tool_error", uncertain: true, source: "tool" } },
    ]);
    // The attempt that produced the receipt is not stored separately.
    expect(await storedAttempts(store)).toEqual([]);
  });

  it("synchronously has failed in the same way", async () => {
    const store = await memoryStore();
    const { act } = actTool(() => {
      throw new TypeError("Not a function.");
    });
    await runnerOf(store, { act }, [acting("a")]).runner.run("Go", { runId: "r-1" });
    expect(await ledger(store)).toEqual([["failed", 1, "tool"]]);
  });
});

describe("NotApplied", () => {
  it.each(RECOVERIES)(
    "from a %s tool is retried with the same key, and every attempt is stored",
    async (recovery) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const { act, calls } = failingTool(
        recovery,
        untilAttempt(3, () => new NotApplied("The server is busy.")),
      );
      const { runner, prompts } = runnerOf(store, { act }, [acting("a")], { clock });

      await runner.run("Go", { runId: "r-1" });

      expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(await storedAttempts(store)).toEqual([
        [1, "not_applied", "The server is busy."],
        [2, "not_applied", "The server is busy."],
      ]);
      expect(await ledger(store)).toEqual([["succeeded", 3, "tool"]]);
      expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "finally done" }]);
    },
  );

  it.each(RECOVERIES)(
    "until the retries of a %s tool are used up is final and certain: the same call may run again",
    async (recovery) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const { act, calls } = failingTool(
        recovery,
        untilAttempt(4, () => new NotApplied("Busy.")),
      );
      const { runner, prompts } = runnerOf(store, { act }, [acting("a"), acting("a")], { clock });

      expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");

      expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1]);
      expect(toolResults(prompts[2])).toMatchObject([{ value: "Busy." }, { value: "finally done" }]);
      const [first] = await store.listToolCalls("r-1");
      expect(first).toMatchObject({
        status: "failed",
        attempt: 3,
        receipt: { errorCode: "not_applied", uncertain: false },
      });
      expect(await storedAttempts(store)).toHaveLength(2);
    },
  );

  it.each([0, 1, 4])("is retried %i times with that limit", async (maxRetriesPerToolCall) => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool("opaque", () => new NotApplied("Busy."));
    await runnerOf(store, { act }, [acting("a")], { clock, maxRetriesPerToolCall }).runner.run("Go");
    expect(calls).toHaveLength(maxRetriesPerToolCall + 1);
    expect(clock.slept).toHaveLength(maxRetriesPerToolCall);
  });

  it("is recognised from another copy of the package", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const theirs = () =>
      Object.assign(new Error("Busy."), { name: "NotApplied", [Symbol.for("pawl.error")]: true });
    const { act } = failingTool("opaque", untilAttempt(2, theirs));
    await runnerOf(store, { act }, [acting("a")], { clock }).runner.run("Go", { runId: "r-1" });
    expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
  });
});

describe("any error of a repeatable tool", () => {
  it.each(["repeat", "keyed"] as const)("is retried (%s) with the same key", async (recovery) => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool(
      recovery,
      untilAttempt(3, () => new Error("Reset.")),
    );
    await runnerOf(store, { act }, [acting("a")], { clock }).runner.run("Go", { runId: "r-1" });
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await ledger(store)).toEqual([["succeeded", 3, "tool"]]);
    expect(await storedAttempts(store)).toEqual([
      [1, "failed", "Reset."],
      [2, "failed", "Reset."],
    ]);
  });

  it.each([
    ["repeat", false],
    ["keyed", true],
  ] as const)("is final after the last attempt; uncertain for a %s tool: %s", async (recovery, uncertain) => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool(recovery, () => new Error("Reset."));
    await runnerOf(store, { act }, [acting("a")], { clock }).runner.run("Go", { runId: "r-1" });
    expect(calls).toHaveLength(3);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "failed", attempt: 3, receipt: { errorCode: "tool_error", uncertain } },
    ]);
  });

  it("is retried with growing pauses with jitter, from half a second up to a minute", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act } = failingTool("repeat", () => new Error("Reset."));
    const chances = [0, 0.5, 0.99, 0, 0, 0, 0, 0, 0.5];
    const random = () => must(chances.shift());
    await runnerOf(store, { act }, [acting("a")], { clock, random, maxRetriesPerToolCall: 9 }).runner.run(
      "Go",
    );
    expect(clock.slept).toEqual([250, 750, 1_990, 2_000, 4_000, 8_000, 16_000, 30_000, 45_000]);
  });

  it("is emitted as an event before the pause", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act } = failingTool(
      "keyed",
      untilAttempt(2, () => new Error("Reset.")),
    );
    const { runner } = runnerOf(store, { act }, [acting("a")], { clock });
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    const about = { runId: "r-1", toolCallId: "r-1/worker#1.1", tool: "act" };
    expect(events.filter(({ type }) => type.startsWith("tool."))).toEqual([
      { type: "tool.started", ...about, attempt: 1, input: { what: "a" } },
      { type: "tool.finished", ...about, attempt: 1, status: "failed" },
      { type: "tool.retrying", ...about, attempt: 1, message: "Reset.", retryInMs: 250 },
      { type: "tool.started", ...about, attempt: 2, input: { what: "a" } },
      { type: "tool.finished", ...about, attempt: 2, status: "succeeded" },
    ]);
  });

  it("is not retried if the run is cancelled during the pause", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const cancel = new AbortController();
    const sleep = (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(new Error("Woken up.")));
        cancel.abort();
      });
    const { act, calls } = failingTool(
      "keyed",
      untilAttempt(2, () => new Error("Reset.")),
    );
    const turns = [acting("a")];
    const { runner } = runnerOf(store, { act }, turns, { clock: { ...clock, sleep } });
    const { status } = await runner.run("Go", { runId: "r-1", signal: cancel.signal });
    expect([status, calls.length]).toEqual(["cancelled", 1]);

    expect((await runnerOf(store, { act }, turns, { clock }).runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await storedAttempts(store)).toEqual([[1, "failed", "Reset."]]);
  });
});

describe("retries after a restart", () => {
  it.each([
    ["keyed", () => new Error("Reset."), true],
    ["opaque", () => new NotApplied("Busy."), false],
  ] as const)(
    "continue the count for a %s tool, up to the same limit",
    async (recovery, error, uncertain) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const { act, calls } = failingTool(recovery, error);
      const turns = [acting("a")];
      // It dies in the pause after each of the first two attempts.
      for (const go of ["run", "resume"] as const) {
        const { runner } = runnerOf(store, { act }, turns, { clock, probe: crashAt("tool:try-ended") });
        await failureOf(go === "run" ? runner.run("Go", { runId: "r-1" }) : runner.resume("r-1"));
      }
      expect(await ledger(store)).toEqual([["in_doubt", 2, null]]);

      expect((await runnerOf(store, { act }, turns, { clock }).runner.resume("r-1")).output).toBe("End.");

      expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(await store.listToolCalls("r-1")).toMatchObject([{ attempt: 3, receipt: { uncertain } }]);
      expect((await storedAttempts(store)).map(([attempt]) => attempt)).toEqual([1, 2]);
    },
  );

  it("count a lost attempt as well", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool(
      "keyed",
      untilAttempt(2, () => new Error("Reset.")),
    );
    const turns = [acting("a")];
    const dying = runnerOf(store, { act }, turns, { clock, probe: crashAt("tool:executed", 2) });
    await failureOf(dying.runner.run("Go", { runId: "r-1" }));
    await runnerOf(store, { act }, turns, { clock }).runner.resume("r-1");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(await storedAttempts(store)).toEqual([
      [1, "failed", "Reset."],
      [2, "lost", null],
    ]);
  });
});

describe("the same call after a failure that may have happened", () => {
  /** Fails once; the model then makes the same call twice more. */
  async function failedOnce() {
    const store = await memoryStore();
    const { act, calls, whats } = failingTool(
      "opaque",
      untilAttempt(2, () => new Error("Reset after DATA.")),
    );
    const turns = [acting("a"), acting("a"), acting("a")];
    const { runner } = runnerOf(store, { act }, turns);
    const { status } = await runner.run("Go", { runId: "r-1" });
    expect([status, whats]).toEqual(["waiting", ["a"]]);
    return { store, calls, ...runnerOf(store, { act }, turns) };
  }

  it("needs approval, and the question names the earlier call", async () => {
    const { store } = await failedOnce();
    expect(await openWait(store)).toMatchObject({
      kind: "possible_duplicate",
      toolCallId: "r-1/worker#2.1",
      question: expect.stringMatching(/failed before \(r-1\/worker#1\.1\) and may have happened/) as string,
      subject: { earlier: "r-1/worker#1.1", failedWith: "Reset after DATA.", arguments: { what: "a" } },
    });
    expect(await ledger(store)).toEqual([
      ["failed", 1, "tool"],
      ["prepared", 0, null],
    ]);
  });

  it("runs when approved, and its success clears the uncertainty for later calls", async () => {
    const { store, runner, calls, prompts } = await failedOnce();
    await store.approve((await openWait(store)).waitId);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ turnIndex }) => turnIndex)).toEqual([1, 2, 3]);
    expect(toolResults(prompts.at(-1))).toMatchObject([
      { value: "Reset after DATA." },
      { value: "finally done" },
      { value: "finally done" },
    ]);
  });

  it("does not run when denied: the model gets the reason, and a third call needs approval too", async () => {
    const { store, runner, calls, prompts } = await failedOnce();
    await store.deny((await openWait(store)).waitId, "It did arrive.");
    expect((await runner.resume("r-1")).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts.at(-1)).at(-1)).toEqual({
      type: "error-text",
      value: "A person denied act: It did arrive.",
    });
    expect(await openWait(store)).toMatchObject({
      toolCallId: "r-1/worker#3.1",
      subject: { earlier: "r-1/worker#1.1" },
    });
  });

  it("with other arguments is another call and runs", async () => {
    const store = await memoryStore();
    const { act, whats } = failingTool(
      "opaque",
      untilAttempt(2, () => new Error("Reset.")),
    );
    const { runner } = runnerOf(store, { act }, [acting("a"), acting("b")]);
    expect((await runner.run("Go")).status).toBe("succeeded");
    expect(whats).toEqual(["a", "b"]);
  });
});
