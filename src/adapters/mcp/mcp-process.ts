import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import type { ServerCommand } from "./mcp-server.ts";

/** How long a server gets to end by itself before it is killed. */
const EOF_GRACE_MS = 500;
const TERM_GRACE_MS = 2_000;
/** A killed process is gone at once, unless its parent does not reap it: then there is nothing more to wait for. */
const KILL_GRACE_MS = 500;
const LOOK_EVERY_MS = 10;

/** The last output of a server arrives a moment after its exit. */
const STDERR_DRAIN_MS = 250;
const MOST_STDERR_CHARACTERS = 65_536;
const LONGEST_ERROR_LINE = 300;

/** Hides a server's secrets in a text that it wrote, before the text is cut. */
export type Hide = ToolCallContext["hide"];

/** How a server's process ended, for people: `exited with code 1 (stderr: "…")`. */
export type ProcessEnd = string;

/**
 * The process of a server and everything that it starts: `npx` and shells start the real server as their child, so it
 * leads its own process group, which is ended as a whole.
 */
export class ServerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #pid: number;
  readonly #hide: Hide;
  readonly #ended: Promise<ProcessEnd>;
  #stderr = "";
  #isTorn = false;

  private constructor(child: ChildProcessWithoutNullStreams, pid: number, hide: Hide) {
    this.#child = child;
    this.#pid = pid;
    this.#hide = hide;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const stderr = this.#stderr + text;
      this.#isTorn ||= stderr.length > MOST_STDERR_CHARACTERS;
      this.#stderr = stderr.slice(-MOST_STDERR_CHARACTERS);
    });
    // Errors of the streams are ignored: the end of the process is reported elsewhere.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined);
    this.#ended = new Promise((resolve) => {
      child.once(
        "exit",
        (code, signal) => void this.#drainStderr().then(() => resolve(this.#describeEnd(code, signal))),
      );
    });
  }

  /** Rejects if the command cannot be started. */
  static start(
    server: ServerCommand,
    inherited: { readonly [name: string]: string },
    hide: Hide,
  ): Promise<ServerProcess> {
    const { command, args = [], env = {}, cwd } = server;
    const child = spawn(command, args, {
      env: { ...inherited, ...env },
      ...(cwd === undefined ? {} : { cwd }),
      stdio: "pipe",
      detached: HAS_GROUPS,
      windowsHide: true,
    });
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("spawn", () => {
        const { pid } = child;
        if (pid === undefined) return;
        killOnExit(pid);
        resolve(new ServerProcess(child, pid, hide));
      });
    });
  }

  get pid(): number {
    return this.#pid;
  }

  get stdin() {
    return this.#child.stdin;
  }

  get stdout() {
    return this.#child.stdout;
  }

  get stderr() {
    return this.#child.stderr;
  }

  /** Known before its last output is. */
  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves when it has ended, by itself or by `end`. */
  get ended(): Promise<ProcessEnd> {
    return this.#ended;
  }

  /** Ends it and everything that it started: first by closing its input, as the protocol requires. Resolves when all is gone. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    if (!(await this.#isGoneWithin(EOF_GRACE_MS))) {
      signalGroup(this.#pid, "SIGTERM");
      if (!(await this.#isGoneWithin(TERM_GRACE_MS))) {
        signalGroup(this.#pid, "SIGKILL");
        await this.#isGoneWithin(KILL_GRACE_MS);
      }
    }
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
    alive.delete(this.#pid);
  }

  async #isGoneWithin(ms: number): Promise<boolean> {
    for (const until = performance.now() + ms; performance.now() < until; await sleep(LOOK_EVERY_MS))
      if (this.hasExited && !signalGroup(this.#pid, 0)) return true;
    return false;
  }

  async #drainStderr(): Promise<void> {
    if (this.#child.stderr.readableEnded) return;
    const stop = new AbortController();
    // A surviving child of it keeps the pipe open.
    const late = sleep(STDERR_DRAIN_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    const closed = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    await Promise.race([closed, late]);
    stop.abort();
  }

  #describeEnd(code: number | null, signal: NodeJS.Signals | null): ProcessEnd {
    const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    return `${how}${this.stderrNote}`;
  }

  /** Its last error line, to be appended to a message about it. */
  get stderrNote(): string {
    // Hidden before it is cut: half of a secret would not be recognized as one.
    const line = lastErrorLine(this.#hide(this.#stderr, { start: this.#isTorn }));
    return line === null ? "" : ` (stderr: ${JSON.stringify(line)})`;
  }
}

/** The line with the error: stack frames, the fields of an error object and Node's version follow it. */
export function lastErrorLine(stderr: string): string | null {
  const lines = stderr.split(/\r?\n/).map((line) => line.trimEnd());
  const last = lines.findLast((line) => /^\S/.test(line) && !/^(?:[{}[\]()^]+|Node\.js v[\d.]+)$/.test(line));
  return last === undefined ? null : last.slice(0, LONGEST_ERROR_LINE);
}

/** Windows has no process groups: there, only the process itself can be signalled. */
const HAS_GROUPS = process.platform !== "win32";

/** True if there was a process to signal. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(HAS_GROUPS ? -pid : pid, signal);
  } catch {
    return false;
  }
}

const alive = new Set<number>();
let isWatchingExit = false;

/** Kills the server when this process exits without closing it, since some servers ignore the end of their input. */
function killOnExit(pid: number): void {
  alive.add(pid);
  if (isWatchingExit) return;
  isWatchingExit = true;
  process.once("exit", () => {
    for (const each of alive) signalGroup(each, "SIGKILL");
  });
}
