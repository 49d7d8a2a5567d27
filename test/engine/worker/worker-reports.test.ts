import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  Pipeline,
  Runner,
  Step,
  type Store,
  Worker,
  type WorkerNotice,
  type WorkerOptions,
} from "../../../src/index.ts";
import { SqlStore } from "../../../src/store/sql/sql-store.ts";
import { databaseFile, fileStore, memoryStore, must } from "../run-fixture.ts";

function started(options: WorkerOptions): () => Promise<void> {
  const end = new AbortController();
  const ended = new Worker({ sweepMs: 50, ...options }).run(end.signal);
  const stop = () => {
    end.abort();
    return ended;
  };
  onTestFinished(stop);
  return stop;
}

const doubling = Pipeline.of(
  "doubling",
  Step.run("double", (n: number) => n * 2),
);

/** The facts of the only worker, once they are as expected. */
async function facts(store: Store, expected: object): Promise<void> {
  await vi.waitFor(
    async () => {
      const workers = await store.listWorkers();
      expect(workers.map((worker) => worker.facts)).toEqual([expect.objectContaining(expected)]);
    },
    { timeout: 8_000, interval: 20 },
  );
}

describe("a worker that people look at", () => {
  it("reports what it is at once, what it does within a second or so, and is forgotten at its end", async () => {
    const store = await memoryStore();
    let letGo = () => undefined as void;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const holding = Pipeline.of(
      "holding",
      Step.run("hold", async () => {
        await held;
        return 1;
      }),
    );
    const asking = Pipeline.of("asking", Step.human("ask", { question: "Which colour?" }));
    const failing = Pipeline.of(
      "failing",
      Step.run("fail", () => {
        throw new Error("No.");
      }),
    );
    const pipelines = { holding, asking, failing };
    const stop = started({ store, pipelines, version: "v1", concurrency: 3, queues: ["default", "mail"] });
    const own = { pid: process.pid, version: "v1", concurrency: 3, queues: ["default", "mail"] };
    await facts(store, { ...own, pipelines: ["holding", "asking", "failing"], claimLatency: null });
    const { runId } = await new Runner(holding, { store }).enqueue(null);
    await facts(store, { runIds: [runId] });
    await new Runner(asking, { store }).enqueue(null);
    await new Runner(failing, { store }).enqueue(null);
    letGo();
    const counts = { claimed: 3, succeeded: 1, waiting: 1, failed: 1, handedBack: 0, takeovers: 0 };
    const latency: unknown = { p50Ms: expect.any(Number), p95Ms: expect.any(Number) };
    await facts(store, { runIds: [], counts, claimLatency: latency });
    await stop();
    expect(await store.listWorkers()).toEqual([]);
  });

  it("works with a store that stores no report", async () => {
    const store = await memoryStore();
    const reports = vi.spyOn(store, "reportWorker").mockRejectedValue(new Error("No room."));
    const forgets = vi.spyOn(store, "forgetWorker").mockRejectedValue(new Error("No room."));
    const stop = started({ store, pipelines: { doubling } });
    const { runId } = await new Runner(doubling, { store }).enqueue(2);
    await vi.waitFor(async () => expect((await store.getRun(runId))?.output).toBe(4));
    await stop();
    expect([reports.mock.calls.length > 0, forgets.mock.calls.length]).toEqual([true, 1]);
  });

  it("ends although a store never answers about it", async () => {
    const store = await memoryStore();
    vi.spyOn(store, "forgetWorker").mockReturnValue(new Promise(() => undefined));
    const stop = started({ store, pipelines: { doubling } });
    await sleep(20);
    await stop();
  });

  it("counts the runs that it takes from a worker that is gone", async () => {
    const file = databaseFile();
    const [store, other] = [await fileStore(file), await fileStore(file)];
    const { runId } = await new Runner(doubling, { store: other }).enqueue(2);
    await other.claimRun(runId, { leaseMs: 60_000, from: ["queued"] });
    await must(other instanceof SqlStore ? other : undefined).vanish();
    const notices: WorkerNotice[] = [];
    started({ store, pipelines: { doubling }, onNotice: (notice) => notices.push(notice) });
    await facts(store, { counts: expect.objectContaining({ claimed: 1, takeovers: 1 }) as object });
    expect(notices[0]).toMatchObject({
      type: "claimed",
      afterMs: null,
      silentMs: expect.any(Number) as number,
    });
  });
});
