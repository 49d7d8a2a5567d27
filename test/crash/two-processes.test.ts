import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import { asError, asResult, type CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import type { Act, WorkerOrder } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "errands-1" };
const RESUME: Act = { do: "resume", runId: "errands-1" };
const EVERY_ORDER = ["town/1", "town/2", "town/3", "town/4"];

/** A run whose process died in turn 2, with the answer journaled and no tool run. */
async function deadRun(): Promise<CrashFolder> {
  const folder = crashFolder();
  await folder.killed({ scenario: "errands", act: RUN, crash: { point: "turn:journaled", turn: 2 } });
  return folder;
}

function assertEverythingOnce(folder: CrashFolder): void {
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5]);
  expect(
    folder
      .lines("tried")
      .filter(({ tool }) => tool === "pay")
      .map(({ order }) => order),
  ).toEqual(EVERY_ORDER);
  expect(folder.lines("effect").map(({ order }) => order)).toEqual(EVERY_ORDER);
  expect(folder.outside()).toEqual(EVERY_ORDER);
}

async function assertTurnsWithoutGap(folder: CrashFolder, epoch: number): Promise<void> {
  await folder.withStore(async (store) => {
    const turns = await store.listTurns("errands-1");
    expect(turns.map(({ turnIndex, committed }) => [turnIndex, committed])).toEqual(
      [1, 2, 3, 4, 5].map((turn) => [turn, true]),
    );
    // Each granted claim raises the epoch: no other process ever owned the run.
    expect(await store.getRun("errands-1")).toMatchObject({ status: "succeeded", epoch });
  });
}

describe("two processes that resume the same dead run at the same instant", () => {
  const barriers = ["before-open", "after-open"] as const;
  const times = Array.from({ length: 6 }, (_, i) => ({
    time: i + 1,
    barrier: barriers[i % 2] ?? "after-open",
  }));

  test.for(sampled(times, 3))(
    "one works and the other gets RunBusyError (time $time, $barrier)",
    async ({ barrier }) => {
      const folder = await deadRun();
      // The owner waits in its next turn until the other has got its answer.
      const order = { scenario: "errands", act: RESUME, barrier, wait: { at: "model", turn: 3 } } as const;
      const workers = [folder.start(order), folder.start(order)];
      await folder.untilWaiting(2);
      folder.allow("go");
      const refused = asError(await Promise.race(workers.map((worker) => worker.end)));
      expect(refused.name).toBe("RunBusyError");
      const winner = workers.find((worker) =>
        JSON.stringify(refused.details.owner).includes(`/${worker.pid}/`),
      );
      expect(winner).toBeDefined();
      expect(refused.message).toMatch(
        /being worked on by .*wait for it \(`wait: true`\), or stop that process/,
      );

      folder.allow("release");
      const ends = await Promise.all(workers.map((worker) => worker.end));
      expect(ends.map((end) => end.kind).sort()).toEqual(["error", "result"]);
      assertEverythingOnce(folder);
      await assertTurnsWithoutGap(folder, 2);
    },
  );

  test.for(sampled(times.slice(0, 4), 4))(
    "the one that waits gets the result of the other (time $time, $barrier)",
    async ({ barrier }) => {
      const folder = await deadRun();
      const act: Act = { ...RESUME, wait: true };
      const order = { scenario: "errands", act, barrier, wait: { at: "model", turn: 3 } } as const;
      const workers = [folder.start(order), folder.start(order)];
      await folder.untilWaiting(2);
      folder.allow("go");
      await folder.untilWaiting(3);
      await sleep(150); // Longer than the polling interval.
      folder.allow("release");
      const [one, other] = await Promise.all(workers.map(async (worker) => asResult(await worker.end)));
      expect(one).toMatchObject({ status: "succeeded", resumed: true });
      expect(other).toEqual(one);
      assertEverythingOnce(folder);
      await assertTurnsWithoutGap(folder, 2);
    },
  );

  test("one continues where the other dies, as soon as it is dead", async () => {
    const folder = await deadRun();
    const first = folder.start({ scenario: "errands", act: RESUME, wait: { at: "model", turn: 3 } });
    await folder.untilWaiting();
    const second = folder.start({ scenario: "errands", act: { ...RESUME, wait: true } });
    await sleep(400);
    process.kill(first.pid, "SIGKILL");
    expect(asResult(await second.end)).toMatchObject({ status: "succeeded" });
    expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 3, 4, 5]);
    expect(folder.outside()).toEqual(EVERY_ORDER);
    expect(folder.tries("pay")).toBe(4);
    await assertTurnsWithoutGap(folder, 3);
  });
});

const WAYS = [
  { how: "run", act: RUN },
  { how: "resume", act: RESUME },
] as const;

test.for(sampled(WAYS))(
  "a second process is refused by $how while the first is alive and works",
  async ({ act }) => {
    const folder = crashFolder();
    const first = folder.start({
      scenario: "errands",
      act: RUN,
      wait: { at: "after-effect", tool: "look", turn: 2 },
    });
    await folder.untilWaiting();
    const before = folder.lines("tried");
    const error = await folder.error({ scenario: "errands", act });
    expect(error).toMatchObject({ name: "RunBusyError", details: { runId: "errands-1" } });
    expect(error.details.owner).toContain(`/${first.pid}/`);
    expect(folder.lines("tried")).toEqual(before);
    folder.allow("release");
    expect(asResult(await first.end).status).toBe("succeeded");
    assertEverythingOnce(folder);
    await assertTurnsWithoutGap(folder, 1);
  },
);

test("two processes that start the same new run at the same instant create one run", async () => {
  const folder = crashFolder();
  const order: Omit<WorkerOrder, "folder" | "variant"> = {
    scenario: "errands",
    act: { ...RUN, wait: true },
    barrier: "before-open",
  };
  const workers = [folder.start(order), folder.start(order), folder.start(order)];
  await folder.untilWaiting(3);
  folder.allow("go");
  const results = await Promise.all(workers.map(async (worker) => asResult(await worker.end)));
  expect(results.filter(({ resumed }) => !resumed)).toHaveLength(1);
  expect(new Set(results.map(({ output }) => output)).size).toBe(1);
  assertEverythingOnce(folder);
  await assertTurnsWithoutGap(folder, 1);
});

test("a process that was stopped past its lease finds the run taken, and does nothing more", async () => {
  const folder = crashFolder();
  const sleeper = folder.start({
    scenario: "errands",
    act: RUN,
    wait: { at: "after-effect", tool: "look", turn: 2 },
    leaseMs: 1_000,
    trace: true,
  });
  await folder.untilWaiting();
  await folder.until(() =>
    folder.lines("reached").some((line) => line.point === "tool:receipt-stored" && line.turn === 2),
  );
  await folder.stopWaiting();
  // Its lock is held, so the other one must wait until the lease has expired.
  const result = await folder.result({ scenario: "errands", act: { ...RESUME, wait: true } });
  expect(result.status).toBe("succeeded");

  const before = done(folder);
  folder.allow("release");
  process.kill(sleeper.pid, "SIGCONT");
  expect(asError(await sleeper.end)).toMatchObject({
    name: "LeaseLostError",
    details: { runId: "errands-1" },
  });
  expect(done(folder)).toEqual(before);
  expect(folder.outside()).toEqual(EVERY_ORDER);
  expect(folder.tries("pay")).toBe(4);
  expect(folder.effects("look")).toBe(5);
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5]);
  await assertTurnsWithoutGap(folder, 2);
});

function done(folder: CrashFolder): unknown[] {
  return folder.witness().filter((line) => line.kind !== "reached");
}
