// A process that serves an endpoint of Restate, for tests that kill it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { ServiceLine, ServiceOrder } from "./children/service-order.ts";

export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines: ServiceLine[] = [];
  readonly #listeners = new Set<() => void>();

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "close");
  }

  /** Resolves once it serves. */
  static async start(order: ServiceOrder): Promise<ServiceProcess> {
    const args = ["--no-warnings", `${import.meta.dirname}/children/service.ts`, JSON.stringify(order)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const service = new ServiceProcess(child);
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) service.#lines.push(JSON.parse(line) as ServiceLine);
      for (const listen of service.#listeners) listen();
    });
    await service.#until((line) => line.is === "ready");
    return service;
  }

  /** Resolves once a tool of the run has had its effect, and has not returned. */
  async inTool(runId: string): Promise<void> {
    await this.#until((line) => line.is === "effect" && line.runId === runId);
  }

  async #until(isIt: (line: ServiceLine) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const listen = () => {
      if (this.#lines.some(isIt)) resolve();
    };
    this.#listeners.add(listen);
    listen();
    const wasEnded = await Promise.race([promise, this.#ended.then(() => true)]);
    this.#listeners.delete(listen);
    if (wasEnded === true) throw new Error("The service has ended.");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
