// The parent's side: a folder with a database and its witness file, and the worker processes that work in it.

import { type ChildProcess, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, onTestFinished } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { readOutside, readWitness, type WitnessKind, type WitnessLine, type WitnessOf } from "./witness.ts";
import type { ReportedError, ReportedResult, WorkerOrder, WorkerReport } from "./worker-order.ts";

/** `worker.ts`, bundled into one file. */
const WORKER = join(inject("crashWorker"), "worker.mjs");

/** The compile cache is shared by all workers: it halves the time to start one. */
const COMPILE_CACHE = join(inject("crashWorker"), "compiled");

/** A worker that has not ended after this time is killed, and the test fails. */
const LONGEST_MS = 20_000;

export type WorkerEnd = { readonly kind: "killed" } | WorkerReport;

export type Worker = {
  readonly pid: number;
  readonly end: Promise<WorkerEnd>;
  kill(signal: NodeJS.Signals): void;
};

type FolderOrder = Omit<WorkerOrder, "folder" | "variant"> & { readonly variant?: WorkerOrder["variant"] };

/** A folder for one test. When the test ends, its workers are killed, its runs are verified, and it is removed. */
export function crashFolder(): CrashFolder {
  const folder = CrashFolder.make();
  onTestFinished(() => folder.finish());
  return folder;
}

export class CrashFolder {
  readonly path: string;
  readonly #workers = new Set<ChildProcess>();
  #isTamperedWith = false;

  private constructor(path: string) {
    this.path = path;
  }

  static make(): CrashFolder {
    const folder = new CrashFolder(mkdtempSync(join(tmpdir(), "pawl-crash-")));
    mkdirSync(join(folder.path, "outside"));
    return folder;
  }

  /** A copy of everything, including lock files of dead processes: to try several things on one dead run. */
  copy(): CrashFolder {
    const folder = new CrashFolder(mkdtempSync(join(tmpdir(), "pawl-crash-")));
    copyFolder(this.path, folder.path);
    folder.#isTamperedWith = this.#isTamperedWith;
    onTestFinished(() => folder.finish());
    return folder;
  }

  /** Verifies all runs of the test, unless it tampered with the database. */
  async finish(): Promise<void> {
    try {
      await this.#endWorkers();
      if (!this.#isTamperedWith) await this.assertVerified();
    } finally {
      await this.remove();
    }
  }

  async remove(): Promise<void> {
    await this.#endWorkers();
    rmSync(this.path, { recursive: true, force: true });
  }

  /** Stopped ones too: SIGKILL always works. */
  async #endWorkers(): Promise<void> {
    for (const worker of this.#workers) worker.kill("SIGKILL");
    while (this.#workers.size > 0) await sleep(5);
  }

  async assertVerified(): Promise<void> {
    if (!existsSync(join(this.path, "pawl.db"))) return;
    await this.withStore(async (store) => {
      for (const { runId } of await store.listRuns()) {
        const { events, problems } = await store.verify(runId);
        expect({ runId, problems }).toEqual({ runId, problems: [] });
        expect(events).toBeGreaterThan(0);
      }
    });
  }

  /** Starts a worker and does not wait for it. */
  start(order: FolderOrder): Worker {
    const child = spawn(
      process.execPath,
      [WORKER, JSON.stringify({ variant: {}, ...order, folder: this.path })],
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, NODE_OPTIONS: "" },
      },
    );
    this.#workers.add(child);
    const end = endOf(child).finally(() => this.#workers.delete(child));
    end.catch(() => undefined); // A caller that awaits it gets the error; other workers are killed.
    return { pid: child.pid ?? -1, end, kill: (signal) => void child.kill(signal) };
  }

  end(order: FolderOrder): Promise<WorkerEnd> {
    return this.start(order).end;
  }

  /** Works until the worker kills itself at the crash point. */
  async killed(order: FolderOrder): Promise<void> {
    const end = await this.end(order);
    if (end.kind === "killed") return;
    throw new Error(`The worker should have died at ${JSON.stringify(order.crash)}: ${JSON.stringify(end)}`);
  }

  async result(order: FolderOrder): Promise<ReportedResult> {
    return asResult(await this.end(order));
  }

  async error(order: FolderOrder): Promise<ReportedError> {
    return asError(await this.end(order));
  }

  /** Makes the worker that waits in a model or tool stop itself, as by SIGSTOP from outside. */
  async stopWaiting(): Promise<void> {
    const before = this.lines("waiting").length;
    writeFileSync(join(this.path, "stop"), "");
    await this.untilWaiting(before + 1);
  }

  /** Waits until workers have recorded this many times that they wait for the parent. */
  untilWaiting(times = 1): Promise<void> {
    return this.until(() => this.lines("waiting").length >= times);
  }

  /** Waits for a condition, usually on the witness file. */
  async until(condition: () => boolean): Promise<void> {
    for (const deadline = Date.now() + LONGEST_MS; !condition(); await sleep(2))
      if (Date.now() > deadline)
        throw new Error(`The condition was not met in time: ${JSON.stringify(this.witness())}`);
  }

  /** Lets the workers continue that wait at the barrier (`go`) or in a model or tool (`release`). */
  allow(what: "go" | "release"): void {
    writeFileSync(join(this.path, what), "");
  }

  witness(): WitnessLine[] {
    return readWitness(this.path);
  }

  lines<K extends WitnessKind>(kind: K): WitnessOf<K>[] {
    return this.witness().filter((line): line is WitnessOf<K> => line.kind === kind);
  }

  /** The entries of the outside system, sorted. */
  outside(): string[] {
    return readOutside(this.path)
      .map(({ entry }) => entry)
      .sort();
  }

  /** How often the tool was entered for an order. */
  tries(tool: string, order?: string): number {
    return this.lines("tried").filter((line) => line.tool === tool && (order ?? line.order) === line.order)
      .length;
  }

  effects(tool: string, order?: string): number {
    return this.lines("effect").filter((line) => line.tool === tool && (order ?? line.order) === line.order)
      .length;
  }

  /** Tampers with the database, as only a person with the file could. */
  sql(text: string): void {
    this.#isTamperedWith = true;
    const database = new DatabaseSync(join(this.path, "pawl.db"));
    database.exec(text);
    database.close();
  }

  async withStore<T>(
    read: (store: Store) => Promise<T>,
    options: { readonly readOnly?: boolean } = {},
  ): Promise<T> {
    const store = await openStore(`file:${join(this.path, "pawl.db")}`, options);
    try {
      return await read(store);
    } finally {
      await store.close();
    }
  }
}

/** A socket cannot be copied, only linked: that of a dead process does not answer under either name. */
function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
  for (const name of readdirSync(from))
    if (lstatSync(join(from, name)).isSocket()) linkSync(join(from, name), join(to, name));
}

export function asResult(end: WorkerEnd): ReportedResult {
  if (end.kind === "result") return end.result;
  throw new Error(`The worker should have returned a result: ${JSON.stringify(end)}`);
}

export function asError(end: WorkerEnd): ReportedError {
  if (end.kind === "error") return end.error;
  throw new Error(`The worker should have failed: ${JSON.stringify(end)}`);
}

function endOf(child: ChildProcess): Promise<WorkerEnd> {
  return new Promise((resolve, reject) => {
    let [stdout, stderr, late] = ["", "", false];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const timer = setTimeout(() => {
      late = true;
      child.kill("SIGKILL");
    }, LONGEST_MS);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const last = stdout.trimEnd().split("\n").at(-1) ?? "";
      if (late) reject(new Error(`The worker was not done after ${LONGEST_MS} ms.\n${stderr}`));
      // SIGBUS: another process truncated the shared memory, because a tool had lost the worker's locks.
      else if (signal === "SIGKILL" || signal === "SIGBUS") resolve({ kind: "killed" });
      else if (code === 0 && last !== "") resolve(JSON.parse(last) as WorkerReport);
      else reject(new Error(`The worker ended with ${signal ?? code} and no report.\n${stdout}${stderr}`));
    });
  });
}
