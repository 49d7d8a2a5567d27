// Processes that work on runs, for tests that kill them, stop them or cut them off.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { WorkerLine, WorkerOrder } from "./children/worker-order.ts";

export class WorkerProcess {
  readonly lines: WorkerLine[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #listeners = new Set<() => void>();

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "close");
  }

  /** Resolves once the process is connected to its store. */
  static async start(order: WorkerOrder): Promise<WorkerProcess> {
    const args = ["--no-warnings", `${import.meta.dirname}/children/worker.ts`, JSON.stringify(order)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    const worker = new WorkerProcess(child);
    // One that was killed takes no more words.
    child.stdin.on("error", () => undefined);
    createInterface({ input: child.stdout }).on("line", (line) => {
      worker.lines.push(JSON.parse(line) as WorkerLine);
      for (const listen of worker.#listeners) listen();
    });
    await worker.said("ready");
    return worker;
  }

  /** Resolves once it has said this, or has ended. */
  async said(is: WorkerLine["is"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const listen = () => {
      if (this.lines.some((line) => line.is === is)) resolve();
    };
    this.#listeners.add(listen);
    listen();
    await Promise.race([promise, this.#ended]);
    this.#listeners.delete(listen);
  }

  /** It starts to work. */
  begin(): void {
    this.#tell("begin");
  }

  /** Its call ends, if it waits for that. */
  endCall(): void {
    this.#tell("end");
  }

  #tell(what: string): void {
    this.#child.stdin?.write(`${what}\n`);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async ended(): Promise<void> {
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
