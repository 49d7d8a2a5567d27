// A call that was running when its worker died: repeated if that is safe, and otherwise looked up or settled by a
// person.

import { describe, expect, it } from "vitest";
import { AlreadySettledError, RunNotBegunError, type RunnerOptions } from "../../../src/index.ts";
import { failureAs, failureOf, toolResults } from "../run-fixture.ts";
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

const HOUR = 3_600_000;

type Options = NonNullable<Parameters<typeof actTool>[1]>;

/** A run that died after its tool's effect and before the receipt. */
async function interrupted(options: Options = {}, turns = [acting("a")]) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const { act, calls } = actTool((n) => `done ${n}`, options);
  const make = (more: RunnerOptions = {}) => runnerOf(store, { act }, turns, { clock, ...more });
  const dying = make({ probe: crashAt("tool:executed") });
  await failureOf(dying.runner.run("Go", { runId: "r-1" }));
  expect(await ledger(store)).toEqual([["in_doubt", 1, null]]);
  expect(await store.listToolCallAttempts("r-1")).toMatchObject([{ attempt: 1, outcome: "lost" }]);
  return { store, clock, calls, make };
}

describe("a call in doubt", () => {
  it.each(["repeat", "keyed"] as const)("of a %s tool runs again, with the same key", async (recovery) => {
    const { store, calls, make } = await interrupted({ recovery });
    const { runner, prompts } = make();
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey);
    // The model is not asked again for a response that is journaled.
    expect(prompts).toHaveLength(1);
    expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
  });

  it("of an opaque tool is not run again: the run waits", async () => {
    const { store, calls, make } = await interrupted();
    const { status, waits } = await make().runner.resume("r-1");
    expect([status, calls.length]).toEqual(["waiting", 1]);
    expect(waits).toMatchObject([
      {
        kind: "in_doubt",
        toolCallId: "r-1/worker#1.1",
        attempt: 1,
        subject: { tool: "act", effect: "external", recovery: "opaque", arguments: { what: "a" } },
        argumentsHash: null,
      },
    ]);
    expect(waits[0]?.subject.idempotencyKey).toBe(calls[0]?.idempotencyKey);
    expect(await ledger(store)).toEqual([["in_doubt", 1, null]]);
  });

  it('is reported to the model with inDoubt "tell", and the same call then needs approval', async () => {
    const { store, calls, make } = await interrupted({ inDoubt: "tell" }, [acting("a"), acting("a")]);
    const { runner, prompts } = make();
    expect((await runner.resume("r-1")).status).toBe("waiting");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[0])).toEqual([
      { type: "error-text", value: expect.stringMatching(/it is unknown whether it happened/) as string },
    ]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "failed",
      errorCode: "unknown_outcome",
      uncertain: true,
    });
    expect(await openWait(store)).toMatchObject({
      kind: "possible_duplicate",
      subject: { earlier: "r-1/worker#1.1" },
    });
  });

  it("is asked about once, however often the run is resumed", async () => {
    const { store, make } = await interrupted();
    for (let i = 0; i < 3; i++) expect((await make().runner.resume("r-1")).waits).toHaveLength(1);
    expect(await store.listWaits("r-1")).toHaveLength(1);
  });
});

describe("a person settles a call in doubt", () => {
  async function waiting(turns = [acting("a")]) {
    const begun = await interrupted({}, turns);
    await begun.make().runner.resume("r-1");
    return { ...begun, ...begun.make() };
  }

  it("as done, with its result, which the model gets", async () => {
    const { store, calls, runner, prompts } = await waiting();
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: { id: "m-1" } }, { by: "ann" });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect(toolResults(prompts[0])).toEqual([{ type: "json", value: { id: "m-1" } }]);
    expect(await ledger(store)).toEqual([["succeeded", 1, "person"]]);
    expect(await store.listWaits("r-1")).toMatchObject([
      { status: "answered", answeredBy: "ann", answer: { as: "succeeded", result: { id: "m-1" } } },
    ]);
  });

  it("as failed: the model gets the reason, and the same call may run again", async () => {
    const { store, calls, runner, prompts } = await waiting([acting("a"), acting("a")]);
    await store.settle("r-1/worker#1.1", { as: "failed", why: "The outbox is empty." });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ turnIndex }) => turnIndex)).toEqual([1, 2]);
    expect(toolResults(prompts[1])).toMatchObject([
      { type: "error-text", value: expect.stringContaining("The outbox is empty.") },
      { type: "text", value: "done 2" },
    ]);
  });

  it("with retry: it runs again with the same key", async () => {
    const { store, calls, runner } = await waiting();
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey);
  });

  it("with retry, and it is interrupted again: that needs another decision", async () => {
    const { store, calls, make } = await waiting();
    await store.settle("r-1/worker#1.1", { as: "retry" });
    await failureOf(make({ probe: crashAt("tool:executed") }).runner.resume("r-1"));
    expect((await make().runner.resume("r-1")).waits).toMatchObject([{ kind: "in_doubt", attempt: 2 }]);
    expect(calls).toHaveLength(2);
  });

  it("before the run waits for it: the next worker uses the decision", async () => {
    const { store, calls, make } = await interrupted();
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: "by hand" });
    expect((await make().runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
  });

  it("only once", async () => {
    const { store } = await waiting();
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: 1 });
    await failureAs(AlreadySettledError, store.settle("r-1/worker#1.1", { as: "retry" }));
  });

  it("and `run` with the same input resumes the run instead of starting a second one", async () => {
    const { store, calls, runner } = await waiting();
    const given = await failureAs(RunNotBegunError, runner.run("Go"));
    expect(given.details).toEqual({ why: "waiting", runIds: ["r-1"] });
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: 1 });
    const { runId, output, waits } = await runner.run("Go");
    expect([runId, output, waits]).toEqual(["r-1", "End.", []]);
    expect(calls).toHaveLength(1);
    expect(await store.listRuns()).toHaveLength(1);
  });
});

describe("the idempotency key of a keyed tool", () => {
  const keyed = (status?: "done"): Options => ({
    recovery: "keyed",
    keyValidForMs: 2 * HOUR,
    ...(status === undefined ? {} : { reconcile: () => ({ status, result: "found" }) }),
  });

  it("is valid for as long as the tool declares", async () => {
    const { clock, calls, make } = await interrupted(keyed("done"));
    await clock.advance(2 * HOUR - 1);
    await make().runner.resume("r-1");
    expect(calls).toHaveLength(2);
  });

  it("once expired leads to a look-up if the tool has one", async () => {
    const { store, clock, calls, make } = await interrupted(keyed("done"));
    await clock.advance(2 * HOUR);
    await make().runner.resume("r-1");
    expect(calls).toHaveLength(1);
    expect(await ledger(store)).toEqual([["succeeded", 1, "reconciled"]]);
  });

  it("once expired leads to a question if there is no look-up", async () => {
    const { clock, calls, make } = await interrupted(keyed());
    await clock.advance(2 * HOUR);
    expect((await make().runner.resume("r-1")).waits).toMatchObject([{ kind: "in_doubt" }]);
    expect(calls).toHaveLength(1);
  });

  it("ages from the first attempt, whenever the last one was", async () => {
    const { clock, calls, make } = await interrupted(keyed());
    await clock.advance(1.5 * HOUR);
    await failureOf(make({ probe: crashAt("tool:executed") }).runner.resume("r-1"));
    await clock.advance(HOUR);
    expect((await make().runner.resume("r-1")).status).toBe("waiting");
    expect(calls).toHaveLength(2);
  });

  it("that expired while its attempt hung does not cover another attempt", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(
      () => {
        void clock.advance(HOUR);
        return new Promise(() => undefined);
      },
      { recovery: "keyed", keyValidForMs: 60_000, timeoutMs: 120_000 },
    );
    const { runner } = runnerOf(store, { act }, [acting("a")], { clock, leaseMs: 2 * HOUR });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(calls).toHaveLength(1);
  });
});

describe("the idempotency key of a keyed tool that keeps failing", () => {
  it("ages from its first attempt within one worker too", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(
      async () => {
        await clock.advance(6_000);
        throw new Error("Reset.");
      },
      { recovery: "keyed", keyValidForMs: 10_000 },
    );
    const { runner } = runnerOf(store, { act }, [acting("a")], { clock });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });
});

describe("rules that changed since a call was interrupted", () => {
  it("and now forbid it: a person is asked since it may have happened; a retry is refused too", async () => {
    const { store, calls, make } = await interrupted({ recovery: "keyed" });
    const constraints = { forbiddenActions: ["act"] };
    expect((await make({ constraints }).runner.resume("r-1")).waits).toMatchObject([
      { kind: "in_doubt", subject: { problem: expect.stringContaining("forbidden") } },
    ]);
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await make({ constraints }).runner.resume("r-1")).output).toBe("End.");
    expect(calls).toHaveLength(1);
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "failed",
      errorCode: "forbidden",
      uncertain: true,
    });
  });

  it("and now forbid a repeatable call: it has failed, and no question is asked", async () => {
    const { store, calls, make } = await interrupted({ recovery: "repeat" });
    const { output } = await make({ constraints: { forbiddenActions: ["act"] } }).runner.resume("r-1");
    expect([output, calls.length]).toEqual(["End.", 1]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "failed",
      errorCode: "forbidden",
      uncertain: false,
    });
  });

  it("and now require approval: a call that was dispatched without one continues without one", async () => {
    const { store, calls, make } = await interrupted({ recovery: "keyed" });
    const { runner } = make({ policy: { approve: ["external"] } });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await store.listWaits("r-1")).toEqual([]);
  });
});
