// Workers in processes of their own share a queue, and are killed: every effect once, no run twice at a time, nothing left.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore, Runner, type Store } from "../../src/index.ts";
import { type EffectServer, effectServer } from "../crash/harness/effect-server.ts";
import { IS_FULL_TEST } from "../full-test.ts";
import { startPostgres } from "../store/postgres/postgres-server.ts";
import { effectPipeline, STEPS } from "./effect-pipeline.ts";
import { QueueWorker, type QueueWorkerOrder } from "./queue-worker.ts";

const LOAD = IS_FULL_TEST
  ? { workers: 3, killEveryMs: 3_000, kills: 40, runsAtOnce: 30 }
  : { workers: 2, killEveryMs: 250, kills: 2, runsAtOnce: 20 };
const LEASE_MS = 10_000;
const AT_WORK_MS = 150;

type Place = { readonly url: string; readonly schema: string | null };

/** Keeps runs in the queue, kills one worker after the other, and waits for the end of all runs. */
async function killedWorkers(store: Store, place: Place, effects: EffectServer) {
  const runner = new Runner(
    effectPipeline(() => Promise.reject(new Error("Only workers have effects."))),
    { store },
  );
  const order: QueueWorkerOrder = {
    ...place,
    effects: effects.url,
    toolMs: 40,
    concurrency: 4,
    leaseMs: LEASE_MS,
    perKey: 2,
  };
  const all: QueueWorker[] = [];
  const start = async () => {
    const worker = await QueueWorker.start(order);
    all.push(worker);
    return worker;
  };
  const workers = await Promise.all(Array.from({ length: LOAD.workers }, start));
  const runIds: string[] = [];
  const enqueue = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const runId = `run-${runIds.length}`;
      runIds.push(runId);
      await runner.enqueue(null, { runId, concurrencyKey: `customer-${runIds.length % 5}` });
    }
  };
  for (let kills = 0; kills < LOAD.kills; kills++) {
    // Right before the kill, so that every worker is at work then.
    await sleep(LOAD.killEveryMs - AT_WORK_MS);
    await enqueue(LOAD.runsAtOnce);
    await sleep(AT_WORK_MS);
    const index = kills % workers.length;
    await workers[index]?.kill();
    workers[index] = await start();
  }
  await ended(store, runIds);
  await Promise.all(workers.map((worker) => worker.stop()));
  return { runIds, all };
}

async function ended(store: Store, runIds: readonly string[]): Promise<void> {
  const left = new Set(runIds);
  for (const until = Date.now() + 60_000; left.size > 0 && Date.now() < until; await sleep(50))
    for (const runId of left) if ((await store.getRun(runId))?.status === "succeeded") left.delete(runId);
  expect([...left]).toEqual([]);
}

/** When each process worked on each run, from the outside: a killed one has stopped when it was killed. */
function spansOf(all: readonly QueueWorker[]) {
  const spans = new Map<string, { readonly worker: number; readonly from: number; readonly to: number }[]>();
  for (const [worker, { lines, killedAt }] of all.entries())
    for (const line of lines) {
      if (line.is !== "begun") continue;
      const end = lines.find(
        (other) => other.is === "ended" && other.runId === line.runId && other.step === line.step,
      );
      const to = end !== undefined && "at" in end ? end.at : (killedAt ?? Number.POSITIVE_INFINITY);
      spans.set(line.runId, [...(spans.get(line.runId) ?? []), { worker, from: line.at, to }]);
    }
  return spans;
}

/** How long it took until another worker took the runs of a killed one. */
function takeovers(all: readonly QueueWorker[]): number[] {
  return all.flatMap(({ killedAt, heldRuns }) => {
    if (killedAt === null) return [];
    const taken = all.flatMap(({ lines }) =>
      lines.flatMap((line) =>
        line.is === "claimed" && line.isTakeover && line.at > killedAt && heldRuns.includes(line.runId)
          ? [line.at - killedAt]
          : [],
      ),
    );
    return taken.filter((ms) => ms < LOAD.killEveryMs + LEASE_MS);
  });
}

async function check(store: Store, place: Place): Promise<void> {
  const effects = await effectServer({ keyed: true });
  const { runIds, all } = await killedWorkers(store, place, effects);
  const wanted = runIds.flatMap((runId) => Array.from({ length: STEPS }, (_, i) => `${runId} ${i + 1}`));
  expect(effects.effects.toSorted()).toEqual(wanted.toSorted());
  for (const [runId, spans] of spansOf(all))
    for (const [i, one] of spans.entries())
      for (const other of spans.slice(i + 1))
        if (one.worker !== other.worker)
          expect([runId, one.from < other.to && other.from < one.to]).toEqual([runId, false]);
  for (const runId of runIds) expect((await store.verify(runId)).problems).toEqual([]);
  const times = takeovers(all).toSorted((a, b) => a - b);
  const p99 = times[Math.ceil(times.length * 0.99) - 1] ?? 0;
  expect(times.length).toBeGreaterThan(0);
  console.log(
    `${LOAD.kills} kills, ${runIds.length} runs, ${times.length} takeovers: median ${times[Math.floor(times.length / 2)]} ms, p99 ${p99} ms`,
  );
}

describe("workers that are killed", () => {
  it("on SQLite leave nothing behind, and repeat nothing", { timeout: 400_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-queue-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const url = `file:${join(folder, "pawl.db")}`;
    const store = await openStore(url);
    await check(store, { url, schema: null });
    await store.close();
  });

  it("on PostgreSQL leave nothing behind, and repeat nothing", { timeout: 400_000 }, async () => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const schema = server.newSchema();
    const store = await openStore(server.url, { schema });
    await check(store, { url: server.url, schema });
    await store.close();
  });
});
