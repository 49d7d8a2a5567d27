// A worker whose provider or store is unavailable for a moment, whose last step was interrupted, or which was slower
// than the next process: nothing is charged or done twice, and no request is lost.

import { describe, expect, it } from "vitest";
import {
  DatabaseCheckpointStore,
  Deadline,
  DurableMainLoop,
  type DurableMainLoopOptions,
  RunBusyError,
  StepFailedError,
  type Store,
  StoreUnavailableError,
} from "../../../src/index.ts";
import { crashAt, jumpingClock, timedStore } from "../call/call-fixture.ts";
import { databaseFile, failureAs, fileStore, memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import { loudly, saying, sayTool, stopsBefore, storedSlice, words } from "../session-fixture.ts";
import { BOTH_STORES, speakingLoop, TO_SAY } from "./main-loop-fixture.ts";

const MINUTE = 60_000;
const LEASE_MS = MINUTE / 2;

describe.each(BOTH_STORES)("with its checkpoints %s, a worker", (_, keeper) => {
  it("with a complete conversation is only finished by another prompt and model", async () => {
    const store = await memoryStore();
    const open = keeper(store);
    const { say, spoken } = sayTool();
    const dying = speakingLoop(store, open(), say, { probe: crashAt("step:before-finish") });
    const { runId } = await failureAs(StepFailedError, dying.loop.execute("Go"));
    const { loop, prompts } = speakingLoop(store, open(), say, { title: "Other", modelId: "m-2" });
    expect(await loop.execute("Go")).toMatchObject({ runId, status: "succeeded", output: "All is said." });
    expect([prompts, spoken, await store.listLineages(must(runId))]).toEqual([[], [...TO_SAY], []]);
    expect(await open().isCompleted()).toBe(true);
  });

  it("is completed only for the run that was done, not for a later request", async () => {
    const store = await memoryStore();
    const open = keeper(store);
    const { say } = sayTool();
    const first = await speakingLoop(store, open(), say).loop.execute("First");
    const dying = speakingLoop(store, open(), say, { probe: stopsBefore(2) });
    const second = await failureAs(StepFailedError, dying.loop.execute("Second"));
    const late = open();
    const release = await late.acquire();
    await late.markCompleted(first.runId);
    await release();
    expect([await open().isCompleted(), await open().hasIncomplete()]).toEqual([false, true]);
    const third = await speakingLoop(store, open(), say).loop.execute("Third");
    expect([third.runId, third.request]).toEqual([second.runId, "Second"]);
    expect(await open().isCompleted()).toBe(true);
  });

  describe("whose provider fails now and then", () => {
    /** Every fifth request is refused; there are six words to say, of which the first and the last are milestones. */
    function brittle(store: Store, options: Pick<DurableMainLoopOptions, "checkpoints" | "clock">) {
      const { say, spoken } = sayTool();
      const script = ["a!", "b", "c", "d", "e", "f!"].map((word) => saying(word));
      let asked = 0;
      const { agent } = scriptedAgent(
        ({ turn }) => {
          if (++asked % 5 === 0) throw new Error("The provider is down.");
          return script[turn - 1] ?? { text: "End." };
        },
        { tools: { say } },
      );
      const loop = new DurableMainLoop(agent, {
        store,
        slices: [words],
        checkpointTrigger: loudly,
        maxModelAttempts: 1,
        random: () => 0,
        ...options,
      });
      return { loop, spoken };
    }

    it("reaches its next milestone, and is charged for each answer once", async () => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const { loop, spoken } = brittle(store, { checkpoints: keeper(store)(), clock });
      const deadline = Deadline.in(MINUTE, clock);
      const { runId, status } = await loop.execute("Go", { deadline });
      expect([status, spoken]).toEqual(["succeeded", ["a!", "b", "c", "d", "e", "f!"]]);
      const paid = (await store.listModelCalls(runId)).map(
        ({ turnIndex, charge }) => `${turnIndex} ${charge?.basis}`,
      );
      // The fifth turn was requested twice: the refusal is charged with its reservation.
      const turns = ["1", "2", "3", "4", "5 baseline", "5", "6", "7"];
      expect(paid).toEqual(turns.map((turn) => (turn.includes(" ") ? turn : `${turn} provider`)));
      expect(await store.listLineages(runId)).toEqual([]);
    });
  });

  describe("whose store is unavailable for a moment", () => {
    /** The store is unavailable for a second from the commit of the last turn on, which makes no calls. */
    async function unavailable() {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      let unavailableUntil = 0;
      const flaky = new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...args: unknown[]): unknown => {
            const { turnIndex } = (args[1] ?? {}) as { turnIndex?: number };
            if (name === "commitTurn" && turnIndex === 4 && unavailableUntil === 0)
              unavailableUntil = clock.now() + 1_000;
            if (clock.now() >= unavailableUntil) return value.apply(target, args);
            return Promise.reject(new StoreUnavailableError("The store is unavailable.", { reason: "io" }));
          };
        },
      });
      const { say, spoken } = sayTool();
      const checkpoints = keeper(flaky)();
      const { loop } = speakingLoop(flaky, checkpoints, say, { clock, leaseMs: LEASE_MS });
      return { clock, store, checkpoints, spoken, loop };
    }

    it("claims the run again that it could not release, without waiting for its lease", async () => {
      const { clock, store, checkpoints, spoken, loop } = await unavailable();
      const result = await loop.execute("Go", { deadline: Deadline.in(10 * MINUTE, clock) });
      expect([result.status, spoken]).toEqual(["succeeded", [...TO_SAY]]);
      expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(LEASE_MS);
      expect(await storedSlice(store, "words", result.runId)).toEqual([...TO_SAY]);
      expect(await checkpoints.isCompleted()).toBe(true);
      expect((await store.verify(result.runId)).problems).toEqual([]);
    });

    it("does nothing while another process has the run, and reports that", async () => {
      const clock = jumpingClock();
      const file = databaseFile();
      const now = () => clock.now();
      const [ours, theirs] = [await fileStore(file, { now }), await fileStore(file, { now })];
      const { say, spoken } = sayTool();
      const open = keeper(ours);
      const dying = speakingLoop(ours, open(), say, { clock, leaseMs: LEASE_MS, probe: stopsBefore(2) });
      const { runId } = await failureAs(StepFailedError, dying.loop.execute("Go"));
      await theirs.claimRun(must(runId), { leaseMs: 60 * MINUTE, from: ["failed"] });
      const { loop } = speakingLoop(ours, open(), say, { clock, leaseMs: LEASE_MS });
      const busy = await failureAs(RunBusyError, loop.execute("Go"));
      expect(busy.details.runId).toBe(runId);
      expect(spoken.length).toBeLessThan(TO_SAY.length);
    });
  });
});

it("a worker in the store that was stopped before its end does not complete the next process's request", async () => {
  const store = await memoryStore();
  const { say } = sayTool();
  const open = () => new DatabaseCheckpointStore(store, "worker-1");
  const slow = open();
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const mark = slow.markCompleted.bind(slow);
  slow.markCompleted = async (runId) => {
    reached.resolve();
    await gate.promise;
    await mark(runId);
  };
  const first = speakingLoop(store, slow, say).loop.execute("First");
  await reached.promise;
  expect(await speakingLoop(store, open(), say).loop.execute("First")).toMatchObject({ status: "succeeded" });
  const dying = speakingLoop(store, open(), say, { probe: stopsBefore(2) });
  const second = await failureAs(StepFailedError, dying.loop.execute("Second"));
  gate.resolve();
  expect((await first).status).toBe("succeeded");
  const third = await speakingLoop(store, open(), say).loop.execute("Third");
  expect([third.runId, third.request]).toEqual([second.runId, "Second"]);
});
