// A tool that throws NeedsHuman or keeps failing with the same error: the run waits, and continues as the person
// decides.

import { describe, expect, it } from "vitest";
import { FailureStreaks } from "../../../src/engine/run/failure-streaks.ts";
import { NeedsHuman, type RecoveryClass } from "../../../src/index.ts";
import { memoryStore, toolResults } from "../run-fixture.ts";
import {
  acting,
  actTool,
  asking,
  jumpingClock,
  ledger,
  openWait,
  runnerOf,
  timedStore,
} from "./call-fixture.ts";

const EXPIRED = () => new NeedsHuman("auth_failure", "The token has expired: renew it.");

describe("NeedsHuman", () => {
  /** Throws at the first attempt and works at the second. */
  async function waiting(recovery: RecoveryClass = "opaque") {
    const store = await memoryStore();
    const { act, calls } = actTool(
      (n) => {
        if (n === 1) throw EXPIRED();
        return "renewed";
      },
      { recovery, reconcile: () => Promise.reject(new Error("A look-up was not expected.")) },
    );
    const turns = [acting("a")];
    const result = await runnerOf(store, { act }, turns).runner.run("Go", { runId: "r-1" });
    return { store, calls, result, ...runnerOf(store, { act }, turns) };
  }

  it.each(["repeat", "keyed", "reconcile", "opaque"] as const)(
    "from a %s tool makes the run wait at once, with its message",
    async (recovery) => {
      const { store, calls, result } = await waiting(recovery);
      expect(result.status).toBe("waiting");
      expect(result.waits).toMatchObject([
        {
          kind: "escalation",
          toolCallId: "r-1/worker#1.1",
          attempt: 1,
          question: "The token has expired: renew it.",
          subject: {
            tool: "act",
            recovery,
            code: "auth_failure",
            failedWith: "The token has expired: renew it.",
            arguments: { what: "a" },
          },
          argumentsHash: null,
        },
      ]);
      expect(calls).toHaveLength(1);
      expect(await store.listToolCallAttempts("r-1")).toMatchObject([
        { attempt: 1, outcome: "needs_human", errorCode: "auth_failure" },
      ]);
    },
  );

  it.each<[string, string | { date: string }, string]>([
    ["words", "Skip the calendar.", "Skip the calendar."],
    ["a value", { date: "2026-05-01" }, '{"date":"2026-05-01"}'],
  ])(
    "can be answered with %s: the model gets the answer, and the tool is not run",
    async (_name, answer, said) => {
      const { store, calls, runner, prompts } = await waiting();
      await store.answer((await openWait(store)).waitId, answer, { by: "ann" });
      expect((await runner.resume("r-1")).output).toBe("End.");
      expect(calls).toHaveLength(1);
      expect(toolResults(prompts.at(-1))).toEqual([
        { type: "error-text", value: expect.stringContaining(said) as string },
      ]);
      expect(await store.listToolCalls("r-1")).toMatchObject([
        { status: "failed", receipt: { source: "person", errorCode: "answered", uncertain: false } },
      ]);
      expect((await store.listWaits("r-1"))[0]?.answeredBy).toBe("ann");
    },
  );

  it.each<[string, () => unknown]>([
    ["half a character", () => new NeedsHuman("auth\ud83d", "Renew \ud83d.")],
    ["nothing at all", () => Reflect.construct(NeedsHuman, [])],
    ["a number", () => Reflect.construct(NeedsHuman, [404, "Renew it."])],
  ])("that says %s makes the run wait anyway", async (_name, thrown) => {
    const store = await memoryStore();
    const { act } = actTool(() => {
      throw thrown();
    });
    const { status, waits } = await runnerOf(store, { act }, [acting("a")]).runner.run("Go", {
      runId: "r-1",
    });
    expect([status, waits.map(({ kind }) => kind)]).toEqual(["waiting", ["escalation"]]);
  });

  it("can be settled with retry: the same call runs again with the same key", async () => {
    const { store, calls, runner, prompts } = await waiting();
    await store.settle("r-1/worker#1.1", { as: "retry", why: "The token is renewed." });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey);
    expect(toolResults(prompts.at(-1))).toEqual([{ type: "text", value: "renewed" }]);
  });

  it("can be settled as done by hand: the model gets that result", async () => {
    const { store, calls, runner, prompts } = await waiting();
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: { booked: true } });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts.at(-1))).toEqual([{ type: "json", value: { booked: true } }]);
    expect(await ledger(store)).toEqual([["succeeded", 1, "person"]]);
  });

  it("asks once, however often the run is resumed before the answer", async () => {
    const { store, calls, runner } = await waiting();
    for (let i = 0; i < 2; i++) expect((await runner.resume("r-1")).waits).toHaveLength(1);
    await store.answer((await openWait(store)).waitId, "Skip it.");
    expect((await store.getRun("r-1"))?.status).toBe("queued");
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
  });

  it("asks no more once the tool has worked without an answer", async () => {
    const { calls, runner } = await waiting("repeat");
    const { status, waits } = await runner.resume("r-1");
    expect([status, calls.length]).toEqual(["succeeded", 2]);
    expect(waits).toEqual([]);
  });

  it("asks again when it is thrown by the next attempt", async () => {
    const store = await memoryStore();
    const { act } = actTool(() => {
      throw EXPIRED();
    });
    const { runner } = runnerOf(store, { act }, [acting("a")]);
    await runner.run("Go", { runId: "r-1" });
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await runner.resume("r-1")).waits).toMatchObject([{ kind: "escalation", attempt: 2 }]);
    expect((await store.listWaits("r-1")).map(({ status }) => status)).toEqual(["answered", "open"]);
  });
});

describe("the same error repeated", () => {
  it("by successive calls makes the run wait", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => {
      throw new Error("No disk space.");
    });
    const turns = [acting("a"), acting("b"), acting("c"), acting("d")];
    const { runner } = runnerOf(store, { act }, turns, { maxSameErrorRepeats: 3 });
    const { status, waits } = await runner.run("Go", { runId: "r-1" });
    expect([status, whats]).toEqual(["waiting", ["a", "b", "c"]]);
    expect(waits).toMatchObject([
      {
        kind: "escalation",
        toolCallId: "r-1/worker#3.1",
        question: expect.stringMatching(/keeps failing in the same way: No disk space\./) as string,
        subject: { code: "tool_error", failedWith: "No disk space." },
      },
    ]);
    expect(await ledger(store)).toEqual([
      ["failed", 1, "tool"],
      ["failed", 1, "tool"],
      ["in_doubt", 1, null],
    ]);
  });

  it("by successive attempts counts as well, and ends the retries", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(
      () => {
        throw new Error("Reset.");
      },
      { recovery: "repeat" },
    );
    const limits = { maxRetriesPerToolCall: 5, maxSameErrorRepeats: 3 };
    const { runner } = runnerOf(store, { act }, [acting("a")], { clock, ...limits });
    expect((await runner.run("Go", { runId: "r-1" })).waits).toMatchObject([
      { kind: "escalation", attempt: 3 },
    ]);
    expect(calls).toHaveLength(3);
  });

  /** Runs calls with these errors, null for success, and returns after how many of them the run waited. */
  async function waitsAfter(ends: readonly (string | null)[], maxSameErrorRepeats = 3) {
    const store = await memoryStore();
    const { act, whats } = actTool((n) => {
      const end = ends[n - 1] ?? null;
      if (end !== null) throw new Error(end);
    });
    const turns = ends.map((_end, i) => acting(`${i}`));
    const { status } = await runnerOf(store, { act }, turns, { maxSameErrorRepeats }).runner.run("Go");
    return status === "waiting" ? whats.length : null;
  }

  it("is counted from zero after a success", async () => {
    expect(await waitsAfter(["x", "x", null, "x", "x"])).toBeNull();
    expect(await waitsAfter(["x", "x", null, "x", "x", "x"])).toBe(6);
  });

  it("is counted from zero after a different error", async () => {
    expect(await waitsAfter(["x", "x", "y", "x", "x"])).toBeNull();
    expect(await waitsAfter(["x", "x", "y", "y", "y"])).toBe(5);
  });

  it("escalates at once with a limit of one", async () => {
    expect(await waitsAfter([null, "x"], 1)).toBe(2);
  });

  it("is counted per tool", async () => {
    const store = await memoryStore();
    const fail = () => {
      throw new Error("No disk space.");
    };
    const tools = { act: actTool(fail).act, other: actTool(fail, { name: "other" }).act };
    const both = asking(["act", { what: "a" }], ["other", { what: "a" }]);
    const { runner } = runnerOf(store, tools, [both], { maxSameErrorRepeats: 2 });
    expect((await runner.run("Go")).status).toBe("succeeded");
  });

  it("is counted from zero after a person's retry", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => {
      throw new Error("No disk space.");
    });
    const turns = [acting("a"), acting("b")];
    const first = runnerOf(store, { act }, turns, { maxSameErrorRepeats: 2 });
    expect((await first.runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    await store.settle("r-1/worker#2.1", { as: "retry" });

    const second = runnerOf(store, { act }, turns, { maxSameErrorRepeats: 2 });
    expect((await second.runner.resume("r-1")).status).toBe("succeeded");
    expect(whats).toEqual(["a", "b", "b"]);
  });

  it("has no effect unless a limit is set", async () => {
    const store = await memoryStore();
    const { act } = actTool(() => {
      throw new Error("No disk space.");
    });
    const turns = Array.from({ length: 15 }, (_, i) => acting(`${i}`));
    expect((await runnerOf(store, { act }, turns).runner.run("Go")).status).toBe("succeeded");
  });

  it("has one streak per tool, which restarts after the limit is reached", () => {
    const streaks = new FailureStreaks(2);
    const seen = [
      streaks.recordFailure("a", "x"),
      streaks.recordFailure("b", "x"),
      streaks.recordFailure("a", "x"),
      streaks.recordFailure("a", "x"),
      streaks.recordFailure("b", "y"),
      streaks.recordFailure("b", "y"),
    ];
    expect(seen).toEqual([false, false, true, false, false, true]);
  });
});
