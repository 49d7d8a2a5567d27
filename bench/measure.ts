import { readFileSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { ModelCallError, openStore, Runner, type Store } from "../src/index.ts";
import type { CrashProbe } from "../src/testing/index.ts";
import { benchStep, instantModel } from "./workload.ts";

export async function freshStore(
  file: string,
  onCommit: (intents: readonly string[]) => void = () => undefined,
) {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  return openStore(`file:${file}`, { onCommit });
}

export type LongRun = {
  readonly microsecondsPerTurn: number;
  /** Of all threads of the process. */
  readonly cpuMicrosecondsPerTurn: number;
  readonly firstHundred: number;
  readonly lastHundred: number;
  /** Transactions that held an intent of a turn, by their number: exactly two a turn. */
  readonly turnCommits: number;
  /** Written to the device, as Linux counts them; null on other systems. */
  readonly deviceKilobytesPerTurn: number | null;
  readonly databaseBytes: number;
  readonly messageBytes: number;
};

/** One run of `turns` turns. The times are from one turn's commit to the next: start and end are left out. */
export async function longRun(
  file: string,
  turns: number,
  model: Parameters<typeof benchStep>[0],
  historyMaxTokens?: number,
): Promise<LongRun> {
  let turnCommits = 0;
  const store = await freshStore(file, (intents) => {
    if (intents.some((intent) => intent === "journalResponse" || intent === "commitTurn")) turnCommits += 1;
  });
  const marks: number[] = [];
  let atFirstTurn = process.cpuUsage();
  let used = atFirstTurn;
  const written: (number | null)[] = [];
  const probe: CrashProbe = (point) => {
    if (point !== "turn:committed") return;
    marks.push(performance.now());
    if (marks.length === 1) atFirstTurn = process.cpuUsage();
    if (marks.length === turns) used = process.cpuUsage(atFirstTurn);
    if (marks.length === 1 || marks.length === turns) written.push(writtenBytes());
  };
  await new Runner(benchStep(model, turns, historyMaxTokens), { store, probe }).run("Go.", { runId: "run" });
  const messages = await store.readHistory("run", "work");
  await store.close();
  const between = (from: number, to: number) =>
    (((marks[to] ?? 0) - (marks[from] ?? 0)) * 1_000) / (to - from);
  return {
    microsecondsPerTurn: between(0, turns - 1),
    cpuMicrosecondsPerTurn: (used.user + used.system) / (turns - 1),
    firstHundred: between(0, 100),
    lastHundred: between(turns - 101, turns - 1),
    turnCommits,
    deviceKilobytesPerTurn: writtenPerTurn(written, turns),
    databaseBytes: checkpointedSize(file),
    messageBytes: messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0),
  };
}

/** What this process has given to the disk so far, in whole pages of the system's cache. */
function writtenBytes(): number | null {
  if (process.platform !== "linux") return null;
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}

function writtenPerTurn(
  [first = null, last = null]: readonly (number | null)[],
  turns: number,
): number | null {
  return first === null || last === null ? null : (last - first) / 1_024 / (turns - 1);
}

function checkpointedSize(file: string): number {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return statSync(file).size;
}

/** `runs` runs at once in one process; returns microseconds a turn. */
export async function manyRuns(
  file: string,
  runs: number,
  turns: number,
  modelOf?: Parameters<typeof runTogether>[4],
): Promise<number> {
  const store = await freshStore(file);
  const elapsed = await runTogether(store, "run", runs, turns, modelOf);
  await store.close();
  return (elapsed * 1_000) / (runs * turns);
}

/** `runs` runs at once; returns milliseconds. */
export async function runTogether(
  store: Store,
  prefix: string,
  runs: number,
  turns: number,
  modelOf: (turns: number) => Parameters<typeof benchStep>[0] = instantModel,
): Promise<number> {
  const runners = Array.from({ length: runs }, () => new Runner(benchStep(modelOf(turns), turns), { store }));
  const start = performance.now();
  await Promise.all(runners.map((runner, i) => runner.run("Go.", { runId: `${prefix}-${i}` })));
  return performance.now() - start;
}

/** How long the event loop keeps a timer of one millisecond waiting while many runs work, in milliseconds. */
export type LoopLag = { readonly p50: number; readonly max: number };

export async function loopLag(file: string, runs: number, turns: number): Promise<LoopLag> {
  const store = await freshStore(file);
  await runTogether(store, "warm", 50, turns);
  const lags: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    lags.push(Math.max(0, now - last - 1));
    last = now;
  }, 1);
  await runTogether(store, "run", runs, turns);
  clearInterval(timer);
  await store.close();
  return { p50: median(lags), max: Math.max(...lags) };
}

/** The time from `resume` to the request to the model, for a run of `turns` turns. */
export async function opener(
  file: string,
  turns: number,
): Promise<{ open(): Promise<number>; close(): Promise<void> }> {
  const store: Store = await freshStore(file);
  let asked = 0;
  let answers = turns;
  const model = instantModel(turns + 2);
  const respond: typeof model.respond = (request) => {
    asked = performance.now();
    return answers-- > 0 ? model.respond(request) : refuse();
  };
  const runner = new Runner(benchStep({ ...model, respond }, turns + 1), { store });
  await interrupted(runner.run("Go.", { runId: "run" }));
  return {
    open: async () => {
      const start = performance.now();
      await interrupted(runner.resume("run"));
      return (asked - start) * 1_000;
    },
    close: () => store.close(),
  };
}

/** What a model answers that refuses a request: the run stops, and can be resumed. */
export function refuse(): Promise<never> {
  const details = { kind: "rejected", status: 400, retryAfterMs: null, retryable: false } as const;
  return Promise.reject(new ModelCallError("Not now.", details));
}

/** Waits for a run that its model stops. */
export async function interrupted(work: Promise<unknown>): Promise<void> {
  await work.then(
    () => Promise.reject(new Error("The run must stop.")),
    (error: unknown) => (ModelCallError.isInstance(error) ? undefined : Promise.reject(error as Error)),
  );
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
