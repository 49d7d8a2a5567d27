// A worker that may have lost its run stops before its next effect, and its writes are refused.

import { describe, expect, it } from "vitest";
import {
  agent,
  LeaseLostError,
  type ModelPort,
  Pipeline,
  Runner,
  Step,
  type Store,
} from "../../../src/index.ts";
import { type CrashPoint, fakeClock } from "../../../src/testing/index.ts";
import {
  collect,
  databaseFile,
  failureAs,
  fileStore,
  memoryStore,
  must,
  noteTool,
  noting,
  scriptedAgent,
} from "../run-fixture.ts";

const LEASE = 30_000;

/** A clock whose timers never fire, as in a process that was stopped or is too busy, while time passes anyway. */
function stalledClock() {
  const clock = fakeClock();
  let stopped = 0;
  return {
    ...clock,
    every: () => () => undefined,
    monotonic: () => clock.monotonic() + stopped,
    /** The process stops for this long; `wall` is the difference on its wall clock. */
    stall: (ms: number, wall = ms) => {
      stopped += ms;
      clock.setWall(clock.now() + wall);
    },
  };
}

/** A clock by which a lease length passes between any two looks at a run. */
function leapingClock(): () => number {
  let monotonic = 0;
  return () => (monotonic += LEASE);
}

/** A run of one tool call whose process stops at a point. */
async function stalledAt(point: CrashPoint, stall: { ms: number; wall?: number }, store?: Store) {
  const clock = stalledClock();
  const used = store ?? (await memoryStore({ now: () => clock.now() }));
  const { note, done } = noteTool(undefined, { recovery: "keyed" });
  const { agent, prompts } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
  const run = new Runner(agent, {
    store: used,
    clock,
    leaseMs: LEASE,
    probe: (reached, { turnIndex }) => {
      if (reached === point && turnIndex === 1) clock.stall(stall.ms, stall.wall ?? stall.ms);
    },
  }).run("Go", { runId: "r-1" });
  return { run, done, prompts, store: used, clock };
}

describe("a worker that was stopped for longer than its lease", () => {
  it("does not ask the model", async () => {
    const { run, prompts, store } = await stalledAt("model:before-request", { ms: LEASE });
    const error = await failureAs(LeaseLostError, run);
    expect(error.details).toEqual({ runId: "r-1", epoch: 1 });
    expect(prompts).toEqual([]);
    // It releases nothing: another worker may own the run now.
    expect((await store.getRun("r-1"))?.status).toBe("running");
  });

  it("does not run a tool", async () => {
    const { run, done, prompts, store } = await stalledAt("tool:before-execute", { ms: LEASE });
    await failureAs(LeaseLostError, run);
    expect([prompts.length, done]).toEqual([1, []]);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["running"]);
  });

  it("does not run a tool of a code step, whatever the code catches", async () => {
    const clock = stalledClock();
    const store = await memoryStore({ now: () => clock.now() });
    const { note, done } = noteTool();
    const step = Step.run("a", async (_input, ctx) => {
      clock.stall(LEASE);
      return ctx.call(note, { text: "one" }).catch(() => "swallowed");
    });
    await failureAs(LeaseLostError, new Runner(step, { store, clock, leaseMs: LEASE }).run("Go"));
    expect(done).toEqual([]);
  });

  it("notices it by its wall clock alone, as after a machine slept", async () => {
    const { run, prompts } = await stalledAt("model:before-request", { ms: 0, wall: LEASE });
    await failureAs(LeaseLostError, run);
    expect(prompts).toEqual([]);
  });

  it("is not misled by a wall clock that was set back", async () => {
    const { run, prompts } = await stalledAt("model:before-request", { ms: LEASE, wall: -3_600_000 });
    await failureAs(LeaseLostError, run);
    expect(prompts).toEqual([]);
  });

  it("continues if it is still in time", async () => {
    const { run } = await stalledAt("model:before-request", { ms: LEASE - 1 });
    expect((await run).output).toBe("Hello");
  });
});

describe("a renewed lease", () => {
  it("lasts as long as the work", async () => {
    const clock = fakeClock();
    const store = await memoryStore({ now: () => clock.now() });
    const { note } = noteTool(async () => {
      await clock.advance(10 * LEASE);
      const run = must(await store.getRun("r-1"));
      expect(run.leaseUntil).toBeGreaterThan(clock.now());
    });
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const run = await new Runner(agent, { store, clock, leaseMs: LEASE }).run("Go", { runId: "r-1" });
    expect(run.output).toBe("Hello");
  });

  it("survives a store that is busy once", async () => {
    const clock = fakeClock();
    const store = await memoryStore({ now: () => clock.now() });
    let renewals = 0;
    const busyOnce = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name === "renewLease" && ++renewals === 1) return () => Promise.reject(new Error("busy"));
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const { note } = noteTool(() => clock.advance(2 * LEASE));
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const run = new Runner(agent, { store: busyOnce, clock, leaseMs: LEASE }).run("Go");
    expect((await run).output).toBe("Hello");
    expect(renewals).toBeGreaterThan(3);
  });
});

describe("a run that another worker took over", () => {
  /** Two handles on one file, of which the second sees the first one's lease as expired. */
  async function twoWorkers() {
    const file = databaseFile();
    const [first, second] = [stalledClock(), fakeClock(Date.UTC(2026, 0, 1) + 2 * LEASE)];
    return {
      first: { clock: first, store: await fileStore(file, { now: () => first.now() }) },
      second: {
        clock: second,
        store: await fileStore(file, { now: () => second.now(), monotonic: leapingClock() }),
      },
    };
  }

  it("continues there, and late writes of the first worker are refused", async () => {
    const { first, second } = await twoWorkers();
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = noteTool(
      async () => {
        begun.resolve();
        await gate.promise;
        return "late";
      },
      { recovery: "keyed" },
    );
    const script = [noting("one"), { text: "Hello" }];
    const one = scriptedAgent(script, { tools: { note: slow.note } });
    const lost = failureAs(
      LeaseLostError,
      new Runner(one.agent, { ...first, leaseMs: LEASE }).run("Go", { runId: "r-1" }),
    );
    await begun.promise;

    const quick = noteTool(() => "in time", { recovery: "keyed" });
    const other = scriptedAgent(script, { tools: { note: quick.note } });
    await second.store.isHeld("r-1");
    const result = await new Runner(other.agent, { ...second, leaseMs: LEASE }).resume("r-1");
    gate.resolve();

    expect(result).toMatchObject({ status: "succeeded", output: "Hello" });
    expect((await lost).details).toEqual({ runId: "r-1", epoch: 1 });
    expect(other.prompts).toHaveLength(1); // the journaled answer was used
    const [call] = await second.store.listToolCalls("r-1");
    expect(call).toMatchObject({
      status: "succeeded",
      attempt: 2,
      receipt: { output: { value: "in time" } },
    });
    expect(quick.calls[0]).toMatchObject({ attempt: 2, epoch: 2 });
    expect(quick.calls[0]?.idempotencyKey).toBe(slow.calls[0]?.idempotencyKey);
    expect(await second.store.getRun("r-1")).toMatchObject({ status: "succeeded", epoch: 2 });
    expect((await second.store.listTurns("r-1")).map((turn) => turn.turnIndex)).toEqual([1, 2]);
  });

  it("is charged once for the open model call of the first worker, with an event", async () => {
    const { first, second } = await twoWorkers();
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const slow = scriptedAgent(async () => {
      asked.resolve();
      await gate.promise;
      return { text: "Too late." };
    });
    const lost = failureAs(
      LeaseLostError,
      new Runner(slow.agent, { ...first, leaseMs: LEASE }).run("Go", { runId: "r-1" }),
    );
    await asked.promise;
    const quick = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(quick.agent, { ...second, leaseMs: LEASE });
    await second.store.isHeld("r-1");
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    gate.resolve();
    await lost;

    const [open, own] = await second.store.listModelCalls("r-1");
    expect(open).toMatchObject({ attempt: 1, charge: { basis: "baseline", amount: must(open).reserved } });
    expect(own).toMatchObject({ attempt: 2, charge: { basis: "provider", amount: { tokens: 15 } } });
    expect(events.find((event) => event.type === "usage.baseline")).toMatchObject({ turn: 1, attempt: 1 });
    expect(await second.store.getRun("r-1")).toMatchObject({
      charged: { tokens: must(open).reserved.tokens + 15 },
      reserved: { tokens: 0 },
    });
    expect(events.at(-1)).toMatchObject({ type: "run.finished", result: { output: "Hello" } });
  });

  it("is not finished by the first worker either", async () => {
    const { first, second } = await twoWorkers();
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const stepOf = (wait: boolean) =>
      Pipeline.of(
        "p",
        Step.run("a", async () => {
          begun.resolve();
          if (wait) await gate.promise;
          return wait ? "first" : "second";
        }),
      );
    const lost = failureAs(
      LeaseLostError,
      new Runner(stepOf(true), { ...first, leaseMs: LEASE }).run("Go", { runId: "r-1" }),
    );
    await begun.promise;
    await second.store.isHeld("r-1");
    await new Runner(stepOf(false), { ...second, leaseMs: LEASE }).resume("r-1");
    gate.resolve();
    await lost;
    expect((await second.store.getRun("r-1"))?.output).toBe("second");
  });

  it("is noticed by the first worker at its next renewal, which then stops", async () => {
    const { second } = await twoWorkers();
    const clock = fakeClock();
    const file = databaseFile();
    const store = await fileStore(file, { now: () => clock.now() });
    const other = await fileStore(file, { now: () => second.clock.now(), monotonic: leapingClock() });
    const { note, calls } = noteTool(async (_text, { signal }) => {
      // The first look starts the watch.
      await other.isHeld("r-1");
      await other.claimRun("r-1", { leaseMs: LEASE, from: ["running"] });
      await clock.advance(LEASE / 3);
      while (!signal.aborted) await new Promise(setImmediate);
      signal.throwIfAborted();
    });
    const { agent } = scriptedAgent([noting("one")], { tools: { note } });
    const run = new Runner(agent, { store, clock, leaseMs: LEASE }).run("Go", { runId: "r-1" });
    await failureAs(LeaseLostError, run);
    expect(calls[0]?.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(await other.getRun("r-1")).toMatchObject({ status: "running", epoch: 2 });
  });

  it("makes the first worker abandon its model call, and code that ignores the signal", async () => {
    const { second } = await twoWorkers();
    const clock = fakeClock();
    const file = databaseFile();
    const store = await fileStore(file, { now: () => clock.now() });
    const other = await fileStore(file, { now: () => second.clock.now(), monotonic: leapingClock() });
    const takeOver = async (runId: string) => {
      await other.isHeld(runId);
      await other.claimRun(runId, { leaseMs: LEASE, from: ["running"] });
      await clock.advance(LEASE / 3);
    };
    let reason: unknown;
    const model: ModelPort = {
      provider: "own",
      modelId: "own",
      respond: async ({ signal }) => {
        await takeOver("r-1");
        while (!signal.aborted) await new Promise(setImmediate);
        reason = signal.reason;
        throw reason;
      },
    };
    const speaker = agent({ name: "speaker", model });
    await failureAs(
      LeaseLostError,
      new Runner(speaker, { store, clock, leaseMs: LEASE }).run("Go", { runId: "r-1" }),
    );
    expect(reason).toBeInstanceOf(LeaseLostError);

    const deaf = Step.run("deaf", async () => {
      await takeOver("r-2");
      await clock.advance(1_000);
      await new Promise(() => undefined);
    });
    await failureAs(
      LeaseLostError,
      new Runner(deaf, { store, clock, leaseMs: LEASE }).run("Go", { runId: "r-2" }),
    );
  });
});
