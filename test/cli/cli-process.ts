// `pawl` as users start it: in its own process and folder, with a configuration. It is bundled, which takes less than half
// of the time to load; main.test.ts starts it from its sources.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inject, onTestFinished } from "vitest";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const bundled = inject("bundledPawl");
const main = join(bundled, "src/cli/main.mjs");
const environment = { NODE_COMPILE_CACHE: join(bundled, "compiled") };

export type Ended = { readonly exitCode: number | null; readonly stdout: string; readonly stderr: string };

/** A started command. It does not outlive its test. */
export class CliProcess {
  readonly #process: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #texts = { stdout: "", stderr: "" };

  constructor(cwd: string, command: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, ...environment };
    this.#process = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#exit = once(this.#process, "close");
    for (const name of ["stdout", "stderr"] as const)
      this.#process[name]?.setEncoding("utf8").on("data", (text: string) => {
        this.#texts[name] += text;
      });
    onTestFinished(async () => {
      this.signal("SIGKILL");
      await this.#exit;
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Resolves when this text has appeared on stderr. */
  async waitForStderr(text: string): Promise<void> {
    await this.#waitFor("stderr", text);
  }

  /** Resolves to what is on stdout when this text has appeared there. */
  async waitForStdout(text: string): Promise<string> {
    await this.#waitFor("stdout", text);
    return this.#texts.stdout;
  }

  async #waitFor(name: "stdout" | "stderr", text: string): Promise<void> {
    while (!this.#texts[name].includes(text)) {
      if (this.#process.exitCode !== null)
        throw new Error(`It ended and did not print ${JSON.stringify(text)}: ${this.#texts.stderr}`);
      await sleep(5);
    }
  }

  /** Resolves when it has ended of a signal that is sent repeatedly, as by a user who keeps pressing Ctrl-C. */
  async endedBy(signal: NodeJS.Signals): Promise<Ended> {
    while (this.#process.exitCode === null) {
      this.signal(signal);
      await sleep(20);
    }
    return this.ended();
  }

  async ended(): Promise<Ended> {
    await this.#exit;
    return { exitCode: this.#process.exitCode, ...this.#texts };
  }
}

export function startPawl(cwd: string, ...args: readonly string[]): CliProcess {
  return new CliProcess(cwd, process.execPath, [main, ...args], environment);
}

/** A folder with a configuration, a log of its tools, and files that make them wait. */
export class CliFolder {
  readonly path: string;

  constructor(configuration: string) {
    this.path = mkdtempSync(join(tmpdir(), "pawl-cli-"));
    onTestFinished(() => rmSync(this.path, { recursive: true, force: true }));
    this.write("package.json", '{ "type": "module" }');
    const imported = configuration.replaceAll(/<pawl>(src\/[a-z/-]+)\.ts/g, `${bundled}/$1.mjs`);
    this.write("pawl.config.ts", imported.replaceAll("<pawl>", repository));
  }

  start(...args: readonly string[]): CliProcess {
    return startPawl(this.path, ...args);
  }

  /** Runs in a process whose heap is limited to this many megabytes. */
  async pawlWithin(megabytes: number, ...args: readonly string[]): Promise<Ended> {
    // Young objects are collected early, so that only retained memory counts.
    const heap = [`--max-old-space-size=${megabytes}`, "--max-semi-space-size=2"];
    return new CliProcess(this.path, process.execPath, [...heap, main, ...args], environment).ended();
  }

  async pawl(...args: readonly string[]): Promise<Ended> {
    return this.start(...args).ended();
  }

  /** Runs a printed command in a shell, where `pawl` is this one. */
  async type(command: string): Promise<Ended> {
    const script = `pawl() { '${process.execPath}' '${main}' "$@"; }; ${command}`;
    return new CliProcess(this.path, "sh", ["-c", script], environment).ended();
  }

  write(name: string, text = ""): void {
    writeFileSync(join(this.path, name), text);
  }

  remove(name: string): void {
    rmSync(join(this.path, name));
  }

  /** The lines that the model and the tools have logged. */
  get log(): readonly string[] {
    const file = join(this.path, "log.txt");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  }

  async logged(line: string): Promise<void> {
    while (!this.log.includes(line)) await sleep(5);
  }
}
