import { userInfo } from "node:os";
import type { Readable, Writable } from "node:stream";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import { systemClock } from "../../engine/ports/system-clock.ts";

/** Where text goes. What is written after the reader has left is dropped: a run must not die of `| head -1`. */
export type TextOutput = {
  write(text: string): void;
  /** Resolves when the reader has taken enough of what was written, or has left. */
  drained(): Promise<void>;
  readonly isTerminal: boolean;
  readonly columns: number;
  /** The reader has left: nobody will see what is written. */
  readonly isClosed: boolean;
  /** For prompts, which draw by themselves. */
  readonly stream: Writable;
};

export type TextInput = { readonly isTerminal: boolean; readonly stream: Readable };

export type InterruptSignal = "SIGINT" | "SIGTERM";

/** Everything that a command may touch, so that tests run commands in their own process. */
export type CliContext = {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  readonly stdin: TextInput;
  readonly env: Environment;
  /** What relative paths are relative to. */
  readonly cwd: string;
  readonly clock: Clock;
  /** Whoever sits there; null where the system does not know. */
  readonly userName: string | null;
  /** The number that the operating system knows them by; null where it has none. */
  readonly userId: string | null;
  /** Calls back on Ctrl-C and SIGTERM until the returned function is called; without a listener they end the process. */
  onInterrupt(listener: (signal: InterruptSignal) => void): () => void;
  readonly useColour: boolean;
  /** What anybody else writes to stdout goes to stderr from now on: a program reads one document there. */
  keepStdoutForDocuments(): void;
  /** Ends the process without waiting for anything: for a second Ctrl-C only. */
  quit(exitCode: number): never;
};

/** Where the command line stands: what it needs to find its configuration and what that names. */
export type Surroundings = Pick<CliContext, "cwd" | "env">;

/** Wide enough for a table, narrow enough for a log. */
const COLUMNS_WITHOUT_TERMINAL = 100;

/** What the process was started with. */
export function processContext(): CliContext {
  const stdout = processOutput(process.stdout);
  return {
    stdout,
    stderr: processOutput(process.stderr),
    stdin: { isTerminal: Boolean(process.stdin.isTTY), stream: process.stdin },
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    userName: currentUser(),
    userId: process.getuid === undefined ? null : String(process.getuid()),
    onInterrupt,
    useColour: wantsColour(stdout.isTerminal, process.env),
    keepStdoutForDocuments: () => {
      process.stdout.write = process.stderr.write.bind(process.stderr);
    },
    quit: (exitCode) => process.exit(exitCode),
  };
}

/** Colours are for terminals, and for nobody who has said no: https://no-color.org. */
export function wantsColour(isTerminal: boolean, env: CliContext["env"]): boolean {
  return isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
}

function processOutput(stream: NodeJS.WriteStream): TextOutput {
  let isClosed = false;
  // Without a listener the process would die of a reader that has seen enough.
  stream.on("error", () => {
    isClosed = true;
  });
  const write = stream.write.bind(stream);
  return {
    write: (text) => {
      if (!isClosed) write(text);
    },
    drained: () => drained(stream),
    isTerminal: Boolean(stream.isTTY),
    get columns() {
      return stream.columns ?? COLUMNS_WITHOUT_TERMINAL;
    },
    get isClosed() {
      return isClosed;
    },
    stream,
  };
}

async function drained(stream: Writable): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      for (const event of ["drain", "close", "error"]) stream.off(event, done);
      resolve();
    };
    for (const event of ["drain", "close", "error"]) stream.on(event, done);
  });
}

function onInterrupt(listener: (signal: InterruptSignal) => void): () => void {
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}

/** A container may run under a user id that has no name. */
function currentUser(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}
