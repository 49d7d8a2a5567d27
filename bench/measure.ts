import { rmSync, statSync } from "node:fs";
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
  readonly databaseBytes: number;
  readonly messageBytes: number;
};

/** One run of `turns` turns. The times are from one turn's commit to the next: start and end are left out. */
export async function longRun(
  file: string,
  turns: number,
  model: Parameters<typeof benchStep>[0],
): Promise<LongRun> {
  let turnCommits = 0;
  const store = await freshStore(file, (intents) => {
    if (intents.some((intent) => intent === "journalResponse" || intent === "commitTurn")) turnCommits += 1;
  });
  const marks: number[] = [];
  let atFirstTurn = process.cpuUsage();
  let used = atFirstTurn;
  const probe: CrashProbe = (point) => {
    if (point !== "turn:committed") return;
    marks.push(performance.now());
    if (marks.length === 1) atFirstTurn = process.cpuUsage();
    if (marks.length === turns) used = process.cpuUsage(atFirstTurn);
  };
  await new Runner(benchStep(model, turns), { store, probe }).run("Go.", { runId: "run" });
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
    databaseBytes: checkpointedSize(file),
    messageBytes: messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0),
  };
}

function checkpointedSize(file: string): number {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return statSync(file).size;
}

/** `runs` runs at once in one process; returns microseconds a turn. */
export async function manyRuns(file: string, runs: number, turns: number): Promise<number> {
  const store = await freshStore(file);
  const runners = Array.from(
    { length: runs },
    () => new Runner(benchStep(instantModel(turns), turns), { store }),
  );
  const start = performance.now();
  await Promise.all(runners.map((runner, i) => runner.run("Go.", { runId: `run-${i}` })));
  const elapsed = performance.now() - start;
  await store.close();
  return (elapsed * 1_000) / (runs * turns);
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
    if (answers-- > 0) return model.respond(request);
    const details = { kind: "rejected", status: 400, retryAfterMs: null, retryable: false } as const;
    return Promise.reject(new ModelCallError("Not now.", details));
  };
  const runner = new Runner(benchStep({ ...model, respond }, turns + 1), { store });
  const interrupted = async (work: Promise<unknown>) => {
    await work.then(
      () => Promise.reject(new Error("The run must stop.")),
      (error: unknown) => (error instanceof ModelCallError ? undefined : Promise.reject(error as Error)),
    );
  };
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

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
