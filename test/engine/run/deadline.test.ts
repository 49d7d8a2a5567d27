// The deadline of a run: nothing begins after it, running work ends, and it is the same for every later worker.

import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  Deadline,
  DeadlineExceededError,
  agent as defineAgent,
  type Json,
  ModelCallError,
  type ModelPort,
  NotApplied,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
} from "../../../src/index.ts";
import { acting, actTool, crashAt, jumpingClock, runnerOf, timedStore } from "../call/call-fixture.ts";
import { failureAs, failureOf, must, scriptedAgent, toolResults } from "../run-fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Clock = ReturnType<typeof jumpingClock>;

const options = (clock: Clock, more: RunnerOptions = {}): RunnerOptions => ({
  clock,
  leaseMs: HOUR,
  ...more,
});

/** Run r-1 of an agent whose first turn takes two minutes, with a deadline of one. */
async function overdue(more: RunnerOptions = {}) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const { act, whats } = actTool(() => "done");
  const make = (isSlow: boolean) => {
    const { agent, prompts } = scriptedAgent(
      async ({ turn }) => {
        if (turn === 1 && isSlow) await clock.advance(2 * MINUTE);
        return turn === 1 ? acting("a") : { text: "End." };
      },
      { tools: { act } },
    );
    return { runner: new Runner(agent, { store, ...options(clock, more) }), prompts };
  };
  const deadline = Deadline.in(MINUTE, clock);
  return { clock, store, whats, make, deadline };
}

describe("a run past its deadline", () => {
  it("during a model call keeps the answer, and dispatches none of its calls", async () => {
    const { store, whats, make, deadline } = await overdue();
    const { runner, prompts } = make(true);
    const error = await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1", deadline }));
    expect(error.details).toEqual({ deadline: new Date(deadline.at).toISOString() });
    expect(error.message).toMatch(
      /The deadline of run r-1 was .+: no new work is started.+resume it with a later/,
    );
    expect([prompts.length, whats]).toEqual([1, []]);
    expect((await store.listTurns("r-1")).map(({ committed }) => committed)).toEqual([false]);
    const [call] = await store.listToolCalls("r-1");
    expect(call?.receipt).toBeNull();
    expect(await store.listToolCallAttempts("r-1")).toMatchObject([{ outcome: "not_applied" }]);
    expect(await store.getRun("r-1")).toMatchObject({
      status: "failed",
      error: { code: "deadline_exceeded" },
    });
  });

  it("resumes with a later deadline: the answer is reused, and its opaque call runs once", async () => {
    const { store, whats, make, clock, deadline } = await overdue();
    await failureOf(make(true).runner.run("Go", { runId: "r-1", deadline }));
    const { runner, prompts } = make(false);
    const later = Deadline.in(MINUTE, clock);
    const result = await runner.resume("r-1", { deadline: later });
    expect([result.status, whats, prompts.length]).toEqual(["succeeded", ["a"], 1]);
    expect((await store.getRun("r-1"))?.deadline).toBe(later.at);
    expect(await store.listWaits("r-1")).toEqual([]);
  });

  it("resumes from a milestone with a later deadline too", async () => {
    const { whats, make, clock, deadline } = await overdue();
    await failureOf(make(true).runner.run("Go", { runId: "r-1", deadline }));
    const later = Deadline.in(MINUTE, clock);
    const result = await make(false).runner.resume("r-1", { deadline: later, from: "milestone" });
    expect([result.status, whats]).toEqual(["succeeded", ["a"]]);
  });

  it("is not resumed without a later deadline, and nothing is done", async () => {
    const { store, whats, make, clock, deadline } = await overdue();
    await failureOf(make(true).runner.run("Go", { runId: "r-1", deadline }));
    await clock.advance(HOUR);
    const { runner, prompts } = make(false);
    for (const from of ["turn", "milestone"] as const)
      await failureAs(DeadlineExceededError, runner.resume("r-1", { from }));
    expect([prompts, whats, await store.listLineages("r-1")]).toEqual([[], [], []]);
    await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1" }));
  });

  it("during a tool call stores its receipt and commits its turn, and does not ask the model again", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, whats } = actTool(async () => {
      await clock.advance(2 * MINUTE);
      return "done after all";
    });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")], options(clock));
    const deadline = Deadline.in(MINUTE, clock);
    await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1", deadline }));
    expect([whats, prompts.length]).toEqual([["a"], 1]);
    expect((await store.listToolCalls("r-1"))[0]?.status).toBe("succeeded");
    expect((await store.listTurns("r-1")).map(({ committed }) => committed)).toEqual([true]);
    const run = must(await store.getRun("r-1"));
    expect([run.charged.tokens, run.reserved.tokens]).toEqual([15, 0]);
    const more = runnerOf(store, { act }, [acting("a")], options(clock));
    await more.runner.resume("r-1", { deadline: Deadline.in(MINUTE, clock) });
    expect([whats, toolResults(more.prompts[0])]).toEqual([
      ["a"],
      [{ type: "text", value: "done after all" }],
    ]);
  });

  it("between the calls of a turn starts no other of them", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, whats } = actTool(() => clock.advance(2 * MINUTE), { exclusive: true });
    const { runner } = runnerOf(store, { act }, [acting("a", "b")], options(clock));
    const deadline = Deadline.in(MINUTE, clock);
    await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1", deadline }));
    const calls = await store.listToolCalls("r-1");
    expect([whats, calls.map(({ status }) => status)]).toEqual([["a"], ["succeeded", "prepared"]]);
    await runnerOf(store, { act }, [acting("a", "b")], options(clock)).runner.resume("r-1", {
      deadline: Deadline.in(HOUR, clock),
    });
    expect(whats).toEqual(["a", "b"]);
  });

  it("between the attempts of a call makes no other", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(async () => {
      await clock.advance(MINUTE - 1);
      throw new NotApplied("Busy.");
    });
    const { runner } = runnerOf(store, { act }, [acting("a")], options(clock));
    const deadline = Deadline.in(MINUTE, clock);
    await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1", deadline }));
    expect(calls).toHaveLength(1);
  });

  it("between the attempts of a model call makes no other", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    let requests = 0;
    const model: ModelPort = {
      provider: "own",
      modelId: "own",
      respond: async () => {
        requests++;
        await clock.advance(2 * MINUTE);
        const details = { kind: "server_error", status: 503, retryAfterMs: null, retryable: true } as const;
        throw new ModelCallError("Overloaded.", details);
      },
    };
    const runner = new Runner(defineAgent({ name: "worker", model }), { store, ...options(clock) });
    const deadline = Deadline.in(MINUTE, clock);
    await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1", deadline }));
    expect(requests).toBe(1);
  });

  it("in a code step makes no other call, and the code cannot catch that", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, whats } = actTool(() => clock.advance(2 * MINUTE));
    const step = Step.run("code", async (_input: Json, ctx) => {
      await ctx.call(act, { what: "a" });
      await ctx.call(act, { what: "b" }).catch(() => "never mind");
      return "done";
    });
    const runner = new Runner(step, { store, ...options(clock) });
    const deadline = Deadline.in(MINUTE, clock);
    await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1", deadline }));
    expect(whats).toEqual(["a"]);
    const result = await runner.resume("r-1", { deadline: Deadline.in(HOUR, clock) });
    expect([result.output, whats]).toEqual(["done", ["a", "b"]]);
  });

  it("before it begins does nothing at all", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { runner, prompts } = runnerOf(store, {}, [], options(clock));
    const deadline = new Deadline(clock.now());
    await failureAs(DeadlineExceededError, runner.run("Go", { runId: "r-1", deadline }));
    expect(prompts).toEqual([]);
  });

  it("that has already finished returns its result", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { runner } = runnerOf(store, {}, [], options(clock));
    const deadline = Deadline.in(MINUTE, clock);
    await runner.run("Go", { runId: "r-1", deadline });
    await clock.advance(HOUR);
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
  });
});

describe("a deadline", () => {
  it("is stored as a point in time: the next worker has the remaining time", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act } = actTool();
    const deadline = Deadline.in(HOUR, clock);
    const make = (more: RunnerOptions = {}) =>
      runnerOf(store, { act }, [acting("a")], options(clock, more)).runner;
    await failureOf(make({ probe: crashAt("turn:committed") }).run("Go", { runId: "r-1", deadline }));
    expect((await store.getRun("r-1"))?.deadline).toBe(clock.now() + HOUR);
    await clock.advance(HOUR - 1);
    expect((await make().resume("r-1")).status).toBe("succeeded");
  });

  it("is absent by default", async () => {
    const clock = jumpingClock();
    const store: Store = await timedStore(clock);
    await runnerOf(store, {}, [], options(clock)).runner.run("Go", { runId: "r-1" });
    expect((await store.getRun("r-1"))?.deadline).toBeNull();
  });

  it("takes a date or whole milliseconds, and returns the remaining time", () => {
    const clock = jumpingClock();
    const at = new Date(clock.now() + 5);
    expect([new Deadline(at).remaining(clock), new Deadline(at.getTime()).at]).toEqual([5, at.getTime()]);
    expect(Deadline.in(-1, clock).remaining(clock)).toBe(-1);
    for (const wrong of [Number.NaN, 1.5, new Date("never"), "tomorrow" as never])
      expect(() => new Deadline(wrong)).toThrow(ConfigurationError);
  });
});
