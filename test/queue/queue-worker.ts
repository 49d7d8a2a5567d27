// Workers in processes of their own, for tests that kill them.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** What a worker's process is asked to do. */
export type QueueWorkerOrder = {
  readonly url: string;
  readonly schema: string | null;
  readonly effects: string;
  readonly toolMs: number;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly perKey: number | null;
};

/** What it says. Times are in milliseconds since 1970. */
export type QueueWorkerLine =
  | { readonly is: "ready" }
  | { readonly is: "claimed"; readonly runId: string; readonly isTakeover: boolean; readonly at: number }
  | { readonly is: "begun" | "ended"; readonly runId: string; readonly step: number; readonly at: number };

export class QueueWorker {
  readonly lines: QueueWorkerLine[] = [];
  /** When it was killed; null while it lives. */
  killedAt: number | null = null;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "close");
  }

  /** Resolves once it works. */
  static async start(order: QueueWorkerOrder): Promise<QueueWorker> {
    const args = ["--no-warnings", `${import.meta.dirname}/children/queue-worker.ts`, JSON.stringify(order)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const worker = new QueueWorker(child);
    const { promise, resolve } = Promise.withResolvers<void>();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line) as QueueWorkerLine;
      worker.lines.push(said);
      if (said.is === "ready") resolve();
    });
    await Promise.race([promise, worker.#ended]);
    return worker;
  }

  /** The runs that it has claimed and, as far as it has said, still works on when it is killed. */
  get heldRuns(): readonly string[] {
    return [...new Set(this.lines.flatMap((line) => (line.is === "claimed" ? [line.runId] : [])))];
  }

  async kill(): Promise<void> {
    this.killedAt = Date.now();
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** It hands its runs back, and ends. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }
}
