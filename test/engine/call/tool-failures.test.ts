// A tool that throws: tried again where that is safe, always with the same key, and final where it is not.

import { describe, expect, it } from "vitest";
import { NotApplied, type RecoveryClass, type Store } from "../../../src/index.ts";
import { collect, failureOf, memoryStore, must, toolResults } from "../run-fixture.ts";
import {
  acting,
  actTool,
  jumpingClock,
  ledger,
  lightsOut,
  openWait,
  runnerOf,
  timedStore,
} from "./call-fixture.ts";

const RECOVERIES: readonly RecoveryClass[] = ["repeat", "keyed", "reconcile", "opaque"];

/** A tool of this class that throws as it is told. Nobody may look a call up here. */
function failingTool(recovery: RecoveryClass, failure: (n: number) => unknown) {
  return actTool(
    (n) => {
      const thrown = failure(n);
      return thrown === null ? "done at last" : raise(thrown);
    },
    { recovery, reconcile: () => Promise.reject(new Error("It was not to be looked up.")) },
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

const untilTry = (n: number, error: () => unknown) => (attempt: number) => (attempt < n ? error() : null);

async function tries(store: Store) {
  const kept = await store.listToolCallAttempts("r-1");
  return kept.map(({ attempt, outcome, errorDetail }) => [attempt, outcome, errorDetail]);
}

describe("a tool that throws and may not be repeated", () => {
  it.each<[string, unknown, string]>([
    ["an error", new Error("The mailbox is full."), "The mailbox is full."],
    ["a string", "just words", "just words"],
    ["undefined", undefined, "undefined"],
    ["an object", { status: 503 }, '{"status":503}'],
    ["an error that cannot be read", unreadable(), expect.any(String) as string],
    ["a proxy that nobody can look at", revoked(), expect.any(String) as string],
  ])("%s has failed for good, and may have happened", async (_name, thrown, words) => {
    const store = await memoryStore();
    const { act, calls } = failingTool("opaque", () => thrown);
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);

    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");

    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[1])).toEqual([{ type: "error-text", value: words }]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "failed", receipt: { errorCode: "tool_error", uncertain: true, source: "tool" } },
    ]);
    // The try that brought the receipt is told by it.
    expect(await tries(store)).toEqual([]);
  });

  it("at once, and not as a promise, is no different", async () => {
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
    "from a %s tool is tried again, with the same key, and every try is kept",
    async (recovery) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const { act, calls } = failingTool(
        recovery,
        untilTry(3, () => new NotApplied("The server is busy.")),
      );
      const { runner, prompts } = runnerOf(store, { act }, [acting("a")], { clock });

      await runner.run("Go", { runId: "r-1" });

      expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(await tries(store)).toEqual([
        [1, "not_applied", "The server is busy."],
        [2, "not_applied", "The server is busy."],
      ]);
      expect(await ledger(store)).toEqual([["succeeded", 3, "tool"]]);
      expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "done at last" }]);
    },
  );

  it.each(RECOVERIES)(
    "without end, from a %s tool, is final and certain: the same again needs nobody",
    async (recovery) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const { act, calls } = failingTool(
        recovery,
        untilTry(4, () => new NotApplied("Busy.")),
      );
      const { runner, prompts } = runnerOf(store, { act }, [acting("a"), acting("a")], { clock });

      expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");

      expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1]);
      expect(toolResults(prompts[2])).toMatchObject([{ value: "Busy." }, { value: "done at last" }]);
      const [first] = await store.listToolCalls("r-1");
      expect(first).toMatchObject({
        status: "failed",
        attempt: 3,
        receipt: { errorCode: "not_applied", uncertain: false },
      });
      expect(await tries(store)).toHaveLength(2);
    },
  );

  it.each([0, 1, 4])("is tried again %i times where the runner says so", async (maxRetriesPerToolCall) => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool("opaque", () => new NotApplied("Busy."));
    await runnerOf(store, { act }, [acting("a")], { clock, maxRetriesPerToolCall }).runner.run("Go");
    expect(calls).toHaveLength(maxRetriesPerToolCall + 1);
    expect(clock.slept).toHaveLength(maxRetriesPerToolCall);
  });

  it("from another copy of the package is one too", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const theirs = () =>
      Object.assign(new Error("Busy."), { name: "NotApplied", [Symbol.for("pawl.error")]: true });
    const { act } = failingTool("opaque", untilTry(2, theirs));
    await runnerOf(store, { act }, [acting("a")], { clock }).runner.run("Go", { runId: "r-1" });
    expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
  });
});

describe("any error of a tool that may be repeated", () => {
  it.each(["repeat", "keyed"] as const)("is tried again (%s), with the same key", async (recovery) => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool(
      recovery,
      untilTry(3, () => new Error("Reset.")),
    );
    await runnerOf(store, { act }, [acting("a")], { clock }).runner.run("Go", { runId: "r-1" });
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await ledger(store)).toEqual([["succeeded", 3, "tool"]]);
    expect(await tries(store)).toEqual([
      [1, "failed", "Reset."],
      [2, "failed", "Reset."],
    ]);
  });

  it.each([
    ["repeat", false],
    ["keyed", true],
  ] as const)(
    "is final after the last try; whether a %s one may have happened: %s",
    async (recovery, uncertain) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const { act, calls } = failingTool(recovery, () => new Error("Reset."));
      await runnerOf(store, { act }, [acting("a")], { clock }).runner.run("Go", { runId: "r-1" });
      expect(calls).toHaveLength(3);
      expect(await store.listToolCalls("r-1")).toMatchObject([
        { status: "failed", attempt: 3, receipt: { errorCode: "tool_error", uncertain } },
      ]);
    },
  );

  it("waits longer each time, from half a second up to a minute, by as much as chance says", async () => {
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

  it("is told to whoever listens, before the pause", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act } = failingTool(
      "keyed",
      untilTry(2, () => new Error("Reset.")),
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

  it("does not run again once the run was cancelled in the pause", async () => {
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
      untilTry(2, () => new Error("Reset.")),
    );
    const turns = [acting("a")];
    const { runner } = runnerOf(store, { act }, turns, { clock: { ...clock, sleep } });
    const { status } = await runner.run("Go", { runId: "r-1", signal: cancel.signal });
    expect([status, calls.length]).toEqual(["cancelled", 1]);

    expect((await runnerOf(store, { act }, turns, { clock }).runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await tries(store)).toEqual([[1, "failed", "Reset."]]);
  });
});

describe("tries after a restart", () => {
  it.each([
    ["keyed", () => new Error("Reset."), true],
    ["opaque", () => new NotApplied("Busy."), false],
  ] as const)("are counted on, for a %s tool, up to the same limit", async (recovery, error, uncertain) => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool(recovery, error);
    const turns = [acting("a")];
    // It dies in the pause after each of the first two tries.
    for (const go of ["run", "resume"] as const) {
      const { runner } = runnerOf(store, { act }, turns, { clock, probe: lightsOut("tool:try-ended") });
      await failureOf(go === "run" ? runner.run("Go", { runId: "r-1" }) : runner.resume("r-1"));
    }
    expect(await ledger(store)).toEqual([["in_doubt", 2, null]]);

    expect((await runnerOf(store, { act }, turns, { clock }).runner.resume("r-1")).output).toBe("End.");

    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await store.listToolCalls("r-1")).toMatchObject([{ attempt: 3, receipt: { uncertain } }]);
    expect((await tries(store)).map(([attempt]) => attempt)).toEqual([1, 2]);
  });

  it("that were lost count as well", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = failingTool(
      "keyed",
      untilTry(2, () => new Error("Reset.")),
    );
    const turns = [acting("a")];
    const dying = runnerOf(store, { act }, turns, { clock, probe: lightsOut("tool:executed", 2) });
    await failureOf(dying.runner.run("Go", { runId: "r-1" }));
    await runnerOf(store, { act }, turns, { clock }).runner.resume("r-1");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(await tries(store)).toEqual([
      [1, "failed", "Reset."],
      [2, "lost", null],
    ]);
  });
});

describe("the same again after a failure that may have happened", () => {
  /** Fails once; the model then asks for the same, and once more. */
  async function failedOnce() {
    const store = await memoryStore();
    const { act, calls, whats } = failingTool(
      "opaque",
      untilTry(2, () => new Error("Reset after DATA.")),
    );
    const turns = [acting("a"), acting("a"), acting("a")];
    const { runner } = runnerOf(store, { act }, turns);
    const { status } = await runner.run("Go", { runId: "r-1" });
    expect([status, whats]).toEqual(["waiting", ["a"]]);
    return { store, calls, ...runnerOf(store, { act }, turns) };
  }

  it("needs a person, who is told of the earlier call", async () => {
    const { store } = await failedOnce();
    expect(await openWait(store)).toMatchObject({
      kind: "approval",
      toolCallId: "r-1/worker#2.1",
      question: expect.stringMatching(/failed before \(r-1\/worker#1\.1\) and may have happened/) as string,
      subject: { earlier: "r-1/worker#1.1", failedWith: "Reset after DATA.", arguments: { what: "a" } },
    });
    expect(await ledger(store)).toEqual([
      ["failed", 1, "tool"],
      ["prepared", 0, null],
    ]);
  });

  it("runs when approved, and its success clears the doubt for what comes after it", async () => {
    const { store, runner, calls, prompts } = await failedOnce();
    await store.approve((await openWait(store)).waitId);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ turnIndex }) => turnIndex)).toEqual([1, 2, 3]);
    expect(toolResults(prompts.at(-1))).toMatchObject([
      { value: "Reset after DATA." },
      { value: "done at last" },
      { value: "done at last" },
    ]);
  });

  it("is not run when denied: the model is told why, and the third time is asked about too", async () => {
    const { store, runner, calls, prompts } = await failedOnce();
    await store.deny((await openWait(store)).waitId, "It did arrive.");
    expect((await runner.resume("r-1")).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts.at(-1)).at(-1)).toEqual({
      type: "error-text",
      value: "A person did not let act run: It did arrive.",
    });
    expect(await openWait(store)).toMatchObject({
      toolCallId: "r-1/worker#3.1",
      subject: { earlier: "r-1/worker#1.1" },
    });
  });

  it("in other words is another call, and runs", async () => {
    const store = await memoryStore();
    const { act, whats } = failingTool(
      "opaque",
      untilTry(2, () => new Error("Reset.")),
    );
    const { runner } = runnerOf(store, { act }, [acting("a"), acting("b")]);
    expect((await runner.run("Go")).status).toBe("succeeded");
    expect(whats).toEqual(["a", "b"]);
  });
});
