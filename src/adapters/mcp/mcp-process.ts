import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import type { ServerCommand } from "./mcp-server.ts";

/** A server that was asked to end gets this long before it is made to. */
const EOF_GRACE_MS = 500;
const TERM_GRACE_MS = 2_000;
/** What was killed is gone at once, unless nobody collects it: then there is nothing more to wait for. */
const KILL_GRACE_MS = 500;
const LOOK_EVERY_MS = 10;

/** What a server wrote before it ended arrives a moment after its end. */
const LAST_WORDS_MS = 250;
const MOST_WORDS = 65_536;
const LONGEST_SAYING = 300;

/** Hides what a server was given, in a text that it wrote, before that is cut. */
export type Hide = ToolCallContext["hide"];

/** How a server's process ended, for people: `ended with exit code 1 and said "…"`. */
export type ProcessEnd = string;

/**
 * The process of a server, with all that it starts: `npx` and shells start the real server as a child of theirs, so it
 * leads a process group of its own, which is ended as a whole.
 */
export class ServerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #pid: number;
  readonly #hide: Hide;
  readonly #ended: Promise<ProcessEnd>;
  #words = "";
  #isTorn = false;

  private constructor(child: ChildProcessWithoutNullStreams, pid: number, hide: Hide) {
    this.#child = child;
    this.#pid = pid;
    this.#hide = hide;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const words = this.#words + text;
      this.#isTorn ||= words.length > MOST_WORDS;
      this.#words = words.slice(-MOST_WORDS);
    });
    // Whoever writes to one that has ended is told of the end.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined);
    this.#ended = new Promise((resolve) => {
      child.once(
        "exit",
        (code, signal) => void this.#lastWords().then(() => resolve(this.#end(code, signal))),
      );
    });
  }

  /** Rejects where the command cannot be started. */
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
        endWithUs(pid);
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

  /** Known before its last words are. */
  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves when it has ended, by itself or by us. */
  get ended(): Promise<ProcessEnd> {
    return this.#ended;
  }

  /** Ends it and all that it started: first politely, as the protocol has it. Resolves when nothing is left of it. */
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

  async #lastWords(): Promise<void> {
    if (this.#child.stderr.readableEnded) return;
    const stop = new AbortController();
    // A child of it that lives on keeps the pipe open.
    const late = sleep(LAST_WORDS_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    const closed = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    await Promise.race([closed, late]);
    stop.abort();
  }

  #end(code: number | null, signal: NodeJS.Signals | null): ProcessEnd {
    const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
    return `${how}${this.saying}`;
  }

  /** What it said last, to be put behind what happened to it. */
  get saying(): string {
    // Before it is cut: half of a secret would not be known as one.
    const said = lastSaying(this.#hide(this.#words, { start: this.#isTorn }));
    return said === null ? "" : ` and said ${JSON.stringify(said)}`;
  }
}

/** Stack frames, the dump of an error's fields and Node's version come after the line that says what is wrong. */
export function lastSaying(words: string): string | null {
  const lines = words.split(/\r?\n/).map((line) => line.trimEnd());
  const said = lines.findLast((line) => /^\S/.test(line) && !/^(?:[{}[\]()^]+|Node\.js v[\d.]+)$/.test(line));
  return said === undefined ? null : said.slice(0, LONGEST_SAYING);
}

/** Windows has no process groups: there the process itself is all that can be reached. */
const HAS_GROUPS = process.platform !== "win32";

/** Whether there was anything to send it to. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(HAS_GROUPS ? -pid : pid, signal);
  } catch {
    return false;
  }
}

const alive = new Set<number>();
let isWatchingOurEnd = false;

/** A process that exits without closing anything takes its servers along, also those that do not heed their input's end. */
function endWithUs(pid: number): void {
  alive.add(pid);
  if (isWatchingOurEnd) return;
  isWatchingOurEnd = true;
  process.once("exit", () => {
    for (const each of alive) signalGroup(each, "SIGKILL");
  });
}
