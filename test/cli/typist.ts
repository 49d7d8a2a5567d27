import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { CliContext } from "../../src/cli/context/cli-context.ts";
import { recordingContext } from "./recording-context.ts";
import { TerminalEmulator } from "./terminal-emulator.ts";

export const DOWN = "\u001b[B";
export const UP = "\u001b[A";
export const ENTER = "\r";
export const ESCAPE = "\u001b";

/** A user at a terminal: waits for a text, and types. */
export class Typist {
  readonly terminal = new TerminalEmulator(60);
  readonly context: CliContext;
  readonly #keys = new PassThrough();
  readonly stdout: () => string;
  readonly interrupt: () => void;

  constructor(cwd = "/nowhere", env: CliContext["env"] = {}) {
    const { context, stdout, interrupt } = recordingContext({ cwd, env });
    this.stdout = stdout;
    this.interrupt = interrupt;
    this.context = {
      ...context,
      stderr: this.terminal.output,
      stdin: { isTerminal: true, stream: this.#keys },
    };
  }

  async sees(text: string): Promise<void> {
    while (!this.terminal.rows.join("\n").includes(text)) await sleep(2);
  }

  /** Key by key, as a terminal sends them. */
  async types(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.#keys.write(key);
      await sleep(2);
    }
  }
}
