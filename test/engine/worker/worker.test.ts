import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  agent,
  type Json,
  Pipeline,
  Runner,
  Step,
  type Store,
  Worker,
  type WorkerNotice,
  type WorkerOptions,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { databaseFile, fileStore, memoryStore } from "../run-fixture.ts";

/** Starts a worker that is stopped when the test ends. */
function started(options: WorkerOptions): {
  readonly worker: Worker;
  readonly notices: WorkerNotice[];
  readonly stop: () => Promise<void>;
} {
  const notices: WorkerNotice[] = [];
  const worker = new Worker({ sweepMs: 50, ...options, onNotice: (notice) => notices.push(notice) });
  const end = new AbortController();
  const ended = worker.run(end.signal);
  const stop = () => {
    end.abort();
    return ended;
  };
  onTestFinished(stop);
  return { worker, notices, stop };
}

async function ends(store: Store, runId: string, status = "succeeded"): Promise<void> {
  await vi.waitFor(async () => expect((await store.getRun(runId))?.status).toBe(status), {
    timeout: 5_000,
    interval: 10,
  });
}

const double = Step.run("double", (n: number) => n * 2);
const doubling = Pipeline.of("doubling", double);

describe("a worker", () => {
  it("runs what was enqueued before it came, and after", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const first = await runner.enqueue(1);
    const { notices } = started({ store, pipelines: { doubling } });
    await ends(store, first.runId);
    const second = await runner.enqueue(2, { key: "two" });
    await ends(store, second.runId);
    expect((await store.getRun(second.runId))?.output).toBe(4);
    expect(notices.map(({ type }) => type)).toEqual(["claimed", "left", "claimed", "left"]);
    const [attempt] = await store.listAttempts(first.runId);
    expect([attempt?.epoch, attempt?.endStatus]).toEqual([1, "succeeded"]);
  });

  it("hears of runs that another process enqueues", async () => {
    const file = databaseFile();
    const [store, other] = [await fileStore(file), await fileStore(file)];
    // Long enough that only a signal can be the reason.
    started({ store, pipelines: { doubling }, sweepMs: 60_000 });
    await sleep(200);
    const { runId } = await new Runner(doubling, { store: other }).enqueue(1);
    await ends(other, runId);
  });

  it("works on as many runs at a time as it may, those with the highest priority first", async () => {
    const store = await memoryStore();
    let [running, most] = [0, 0];
    const order: Json[] = [];
    const slow = Pipeline.of(
      "slow",
      Step.run("work", async (n: number) => {
        order.push(n);
        most = Math.max(most, ++running);
        await sleep(20);
        running--;
        return n;
      }),
    );
    const runner = new Runner(slow, { store });
    for (let n = 0; n < 6; n++) await runner.enqueue(n, { runId: `run-${n}`, priority: n });
    started({ store, pipelines: { slow }, concurrency: 2 });
    for (let n = 0; n < 6; n++) await ends(store, `run-${n}`);
    expect(most).toBe(2);
    expect(order).toEqual([5, 4, 3, 2, 1, 0]);
  });

  it("runs one run of a key at a time, in their order, and others beside it", async () => {
    const store = await memoryStore();
    const running = new Map<string, number>();
    const order: string[] = [];
    let beside = false;
    const slow = Pipeline.of(
      "slow",
      Step.run("work", async (key: string, { runId }) => {
        order.push(runId);
        const count = (running.get(key) ?? 0) + 1;
        running.set(key, count);
        expect(count).toBe(1);
        beside ||= [...running.values()].filter((n) => n > 0).length > 1;
        await sleep(30);
        running.set(key, 0);
        return key;
      }),
    );
    const runner = new Runner(slow, { store });
    const ids: string[] = [];
    for (const key of ["ann", "ann", "ann", "bob"]) {
      const runId = `${key}-${ids.length}`;
      ids.push(runId);
      await runner.enqueue(key, { runId, concurrencyKey: key });
      await sleep(2);
    }
    started({ store, pipelines: { slow }, limits: { perKey: 1 } });
    for (const runId of ids) await ends(store, runId);
    expect(order.filter((runId) => runId.startsWith("ann"))).toEqual(["ann-0", "ann-1", "ann-2"]);
    expect(beside).toBe(true);
  });

  it("does not begin a run before its time", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const notBefore = new Date(Date.now() + 150);
    const { runId } = await runner.enqueue(1, { notBefore });
    started({ store, pipelines: { doubling } });
    await ends(store, runId);
    const [attempt] = await store.listAttempts(runId);
    expect(attempt?.startedAt).toBeGreaterThanOrEqual(notBefore.getTime());
  });

  it("continues a run after a person's answer", async () => {
    const store = await memoryStore();
    const asking = Pipeline.of("asking", Step.human("ask", { question: "Which colour?" }));
    const { runId } = await new Runner(asking, { store }).enqueue(null);
    started({ store, pipelines: { asking } });
    await ends(store, runId, "waiting");
    await store.answer(`${runId}~1`, "green");
    await ends(store, runId);
    expect((await store.getRun(runId))?.output).toBe("green");
  });

  it("takes a run that a closed process left", async () => {
    const file = databaseFile();
    const [store, other] = [await fileStore(file), await fileStore(file)];
    const hanging = agent({
      name: "hanging",
      instructions: "Hang.",
      model: scriptedModel([{ text: "Done." }]),
    });
    const created = await other.enqueueRun({
      runId: "left",
      pipeline: "hanging",
      entrypoint: "test",
      input: "go",
      inputHash: Buffer.alloc(32),
      shape: [],
      limit: { tokens: null, microDollars: null },
    });
    expect(created.kind).toBe("created");
    await other.claimRun("left", { leaseMs: 60_000, from: ["queued"] });
    await other.close();
    const { notices } = started({ store, pipelines: { hanging } });
    await vi.waitFor(() => expect(notices.some(({ type }) => type === "claimed")).toBe(true));
  });

  it("leaves runs of pipelines alone that it does not have, and says so", async () => {
    const store = await memoryStore();
    const other = Pipeline.of(
      "other",
      Step.run("work", () => 1),
    );
    const { runId } = await new Runner(other, { store }).enqueue(null);
    const { notices } = started({ store, pipelines: { doubling } });
    await vi.waitFor(() =>
      expect(notices).toContainEqual({ type: "unknown_pipelines", pipelines: ["other"] }),
    );
    expect((await store.getRun(runId))?.status).toBe("queued");
  });

  it("takes runs of its own queues only", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const mail = await runner.enqueue(1, { queue: "mail" });
    const rest = await runner.enqueue(2);
    started({ store, pipelines: { doubling }, queues: ["mail"] });
    await ends(store, mail.runId);
    expect((await store.getRun(rest.runId))?.status).toBe("queued");
  });

  it("hands its runs back when it is asked to stop, after what is in progress", async () => {
    const store = await memoryStore();
    let begun = () => undefined as void;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const two = Pipeline.of(
      "two",
      Step.run("first", async () => {
        begun();
        await sleep(50);
        return 1;
      }),
      Step.run("second", (n: number) => n + 1),
    );
    const { runId } = await new Runner(two, { store }).enqueue(null);
    const first = started({ store, pipelines: { two } });
    await isBegun;
    await first.stop();
    const left = await store.getRun(runId);
    expect([left?.status, left?.owner]).toEqual(["queued", null]);
    const steps = await store.listSteps(runId);
    expect(steps.map(({ path, status }) => [path, status])).toEqual([["first", "succeeded"]]);
    started({ store, pipelines: { two } });
    await ends(store, runId);
    expect((await store.getRun(runId))?.output).toBe(2);
  });

  it("reports a run that failed, and goes on with others", async () => {
    const store = await memoryStore();
    const failing = Pipeline.of(
      "failing",
      Step.run("break", () => {
        throw new Error("It broke.");
      }),
    );
    const { runId } = await new Runner(failing, { store }).enqueue(null);
    const { notices } = started({ store, pipelines: { failing, doubling } });
    await ends(store, runId, "failed");
    await vi.waitFor(() =>
      expect(notices.at(-1)).toMatchObject({
        type: "left",
        runId,
        status: "failed",
        error: { code: "step_failed" },
      }),
    );
    const next = await new Runner(doubling, { store }).enqueue(1);
    await ends(store, next.runId);
  });

  it("refuses options that cannot work, in a sentence", async () => {
    const store = await memoryStore();
    const mistakes: readonly [object, RegExp][] = [
      [{ store, pipelines: {} }, /has no pipelines/],
      [{ pipelines: { doubling } }, /has no store/],
      [{ store, pipelines: { doubling }, concurrency: 0 }, /concurrency is 0/],
      [{ store, pipelines: { doubling }, queues: [] }, /queues are \[\]/],
      [{ store, pipelines: { doubling }, queue: "mail" }, /queues/],
      [{ store, pipelines: { a: doubling, b: doubling } }, /two pipelines named "doubling"/],
      [{ store, pipelines: { doubling }, limits: { perKey: 1.5 } }, /limits.perKey is 1.5/],
      [{ store, pipelines: { doubling }, limits: { queues: { mail: { most: 1 } } } }, /most/],
    ];
    for (const [options, message] of mistakes)
      expect(() => new Worker(options as WorkerOptions)).toThrow(
        expect.objectContaining({ code: "configuration", message: expect.stringMatching(message) as string }),
      );
  });
});

describe("retention", () => {
  it("deletes runs that ended long ago, and leaves a tombstone of each", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const { runId } = await runner.run(1);
    await sleep(1_100);
    const young = await runner.run(2);
    const retention = { runsOlderThan: "1s", statuses: ["succeeded"] } as const;
    const { notices } = started({ store, pipelines: { doubling }, retention });
    await vi.waitFor(async () => expect(await store.getRun(runId)).toBeNull());
    expect(await store.getTombstone(runId)).toMatchObject({
      runId,
      why: "Runs are kept for 1s (retention).",
    });
    expect((await store.getRun(young.runId))?.status).toBe("succeeded");
    expect(notices).toContainEqual({ type: "deleted", runs: 1 });
  });
});
