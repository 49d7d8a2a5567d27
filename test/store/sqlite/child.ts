import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A real process that runs one of the scripts in `children/`, communicates in lines, and does not outlive its test. */
export class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  readonly #exit: Promise<unknown>;
  #errors = "";

  private constructor(process: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.#process = process;
    this.#lines = createInterface({ input: process.stdout })[Symbol.asyncIterator]();
    this.#exit = once(process, "exit");
    process.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
  }

  static start(script: string, ...args: readonly string[]): Child {
    const path = fileURLToPath(new URL(`./children/${script}.ts`, import.meta.url));
    const child = new Child(spawn(process.execPath, [path, ...args], { stdio: ["pipe", "pipe", "pipe"] }));
    onTestFinished(() => child.kill());
    return child;
  }

  /** The next line that it prints. */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`The child ended without another line. ${this.#errors}`);
    return value;
  }

  /** Every line until it ends. */
  async rest(): Promise<string[]> {
    const lines: string[] = [];
    for (let next = await this.#lines.next(); next.done !== true; next = await this.#lines.next())
      lines.push(next.value);
    return lines;
  }

  send(line: string): void {
    this.#process.stdin.write(`${line}\n`);
  }

  /** SIGKILL: nothing is flushed and nothing is cleaned up. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#exit;
  }

  /** SIGSTOP: it lives, but does nothing. */
  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  async ended(): Promise<number | null> {
    await this.#exit;
    return this.#process.exitCode;
  }
}
