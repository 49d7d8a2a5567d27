/**
 * `node bench/queue.ts`: how long a run waits for an idle worker, how many runs a process enqueues a second, what an idle
 * worker costs, and what claiming costs beside many runs that sleep: on SQLite and on PostgreSQL.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, openStore, Runner, Step, type Store, Worker } from "../src/index.ts";
import { copyRuns } from "../test/store/copied-runs.ts";
import { startPostgres } from "../test/store/postgres/postgres-server.ts";
import { median } from "./measure.ts";
import { atLeast, atMost, figure, logProgress, printReport, type Section } from "./report.ts";
import { instantModel } from "./workload.ts";

const SAMPLES = 60;
const ENQUEUED = 1_500;
const IDLE_MS = 8_000;
const [SLEEPING, READY] = [100_000, 10_000];
const CLAIMS = 50;

/** Where a benchmark opens its stores: each call is another process's view of the same database. */
type Place = {
  readonly name: string;
  readonly open: () => Promise<Store>;
  /** Adds runs like the one of this id, by SQL. */
  readonly copy: (pattern: string, prefix: string, count: number) => Promise<void>;
  readonly limits: { readonly latencyMs: number };
};

function pipelineWith(onCall: () => void) {
  const clerk = agent({ name: "clerk", instructions: "Answer.", model: instantModel(1, onCall) });
  return Step.granular("answer", clerk, { maxTurns: 1 });
}

/** From the call of enqueue in one process (its own store) to the first model call in the worker of another. */
async function latency(place: Place): Promise<Section> {
  logProgress(`${place.name}: latency`);
  const [sender, store] = [await place.open(), await place.open()];
  let called: () => void = () => undefined;
  const pipeline = pipelineWith(() => called());
  const stop = new AbortController();
  const worker = new Worker({ store, pipelines: { pipeline } }).run(stop.signal);
  const runner = new Runner(pipeline, { store: sender });
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    await sleep(20 + Math.random() * 150);
    const first = new Promise<void>((resolve) => {
      called = resolve;
    });
    const begun = performance.now();
    await runner.enqueue("Hello", { runId: `latency-${i}` });
    await first;
    times.push(performance.now() - begun);
  }
  stop.abort();
  await worker;
  await Promise.all([sender.close(), store.close()]);
  const sorted = times.toSorted((a, b) => a - b);
  return {
    lines: [
      atMost(
        `${place.name}: enqueue to the first model call, p50`,
        median(times),
        place.limits.latencyMs,
        " ms",
      ),
      figure("  p95", `${(sorted[Math.floor(sorted.length * 0.95)] ?? 0).toFixed(1)} ms`),
    ],
    figures: { [`latency ${place.name}`]: sorted },
  };
}

async function throughput(place: Place): Promise<Section> {
  logProgress(`${place.name}: enqueues`);
  const store = await place.open();
  const runner = new Runner(
    pipelineWith(() => undefined),
    { store },
  );
  const begun = performance.now();
  let next = 0;
  const sender = async () => {
    for (let i = next++; i < ENQUEUED; i = next++) await runner.enqueue("Hello", { runId: `many-${i}` });
  };
  await Promise.all(Array.from({ length: 16 }, sender));
  const perSecond = (ENQUEUED * 1_000) / (performance.now() - begun);
  const single = performance.now();
  for (let i = 0; i < 100; i++) await runner.enqueue("Hello", { runId: `single-${i}` });
  const oneByOne = 100_000 / (performance.now() - single);
  await store.close();
  return {
    lines: [
      atLeast(`${place.name}: enqueues of one process, 16 at a time`, perSecond, 500, "/s"),
      figure("  one after the other", `${oneByOne.toFixed(0)}/s`),
    ],
    figures: {},
  };
}

async function idle(place: Place): Promise<Section> {
  logProgress(`${place.name}: idle`);
  const store = await place.open();
  const stop = new AbortController();
  const worker = new Worker({ store, pipelines: { none: pipelineWith(() => undefined) }, queues: ["none"] });
  const ended = worker.run(stop.signal);
  await sleep(1_000);
  const before = process.cpuUsage();
  await sleep(IDLE_MS);
  const { user, system } = process.cpuUsage(before);
  stop.abort();
  await ended;
  await store.close();
  const share = (user + system) / 10 / IDLE_MS;
  return { lines: [atMost(`${place.name}: an idle worker, of a core`, share, 1, " %")], figures: {} };
}

/** Claiming beside many that sleep and are ready, and beside nothing; and how late a sleeper wakes. */
async function claims(place: Place): Promise<Section> {
  logProgress(`${place.name}: claims`);
  const store = await place.open();
  const runner = new Runner(
    pipelineWith(() => undefined),
    { store },
  );
  const few = await claimTime(store, runner, "few");
  await runner.enqueue("Hello", { runId: "pattern-sleeps", notBefore: new Date(Date.now() + 3_600_000) });
  await runner.enqueue("Hello", { runId: "pattern-ready", priority: -1 });
  await place.copy("pattern-sleeps", "sleeps", SLEEPING);
  await place.copy("pattern-ready", "ready", READY);
  const many = await claimTime(store, runner, "many");
  await store.close();
  return {
    lines: [
      figure(`${place.name}: finding and claiming a run of an empty queue`, `${few.toFixed(2)} ms`),
      atMost(`  beside ${SLEEPING} that sleep and ${READY} that are ready`, many / few, 1.2),
    ],
    figures: {},
  };
}

async function claimTime(store: Store, runner: Runner, name: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < CLAIMS; i++) {
    await runner.enqueue("Hello", { runId: `${name}-${i}`, priority: 5 });
    const begun = performance.now();
    await store.listSleeping({ limit: 100 });
    const [run] = await store.listReady({ pipelines: ["answer"], queues: ["default"], limit: 9 });
    if (run === undefined) throw new Error("Nothing is ready.");
    const outcome = await store.claimRun(run.runId, { leaseMs: 30_000, from: ["queued"], maxStalls: 5 });
    times.push(performance.now() - begun);
    if (outcome.kind !== "claimed") throw new Error(`It is ${outcome.kind}.`);
    await store.releaseRun(
      { runId: run.runId, epoch: outcome.claim.epoch },
      { status: "cancelled", error: null },
    );
  }
  return median(times);
}

async function sections(place: Place): Promise<Section[]> {
  // First, while there are no jobs of other measurements.
  return [await idle(place), await latency(place), await throughput(place), await claims(place)];
}

const folder = mkdtempSync(join(tmpdir(), "pawl-bench-queue-"));
const server = await startPostgres("fsync=on", "synchronous_commit=on", "shared_buffers=512MB");
try {
  const file = join(folder, "pawl.db");
  const sqlite: Place = {
    name: "SQLite",
    open: () => openStore(`file:${file}`),
    copy: (pattern, prefix, count) => copyRuns(`file:${file}`, { pattern, prefix, count }),
    limits: { latencyMs: 120 },
  };
  const schema = server.newSchema();
  const postgres: Place = {
    name: "PostgreSQL",
    open: () => openStore(server.url, { schema }),
    copy: (pattern, prefix, count) => copyRuns(`${server.url}?schema=${schema}`, { pattern, prefix, count }),
    limits: { latencyMs: 25 },
  };
  printReport([...(await sections(sqlite)), ...(await sections(postgres))]);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
