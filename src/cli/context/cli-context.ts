import { userInfo } from "node:os";
import type { Readable, Writable } from "node:stream";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import { systemClock } from "../../engine/ports/system-clock.ts";

/** A text stream. Writes after the reader has closed it are dropped: a run must not die of `| head -1`. */
export type TextOutput = {
  write(text: string): void;
  /** Resolves when the buffer has drained or the reader has closed the stream. */
  drained(): Promise<void>;
  readonly isTerminal: boolean;
  readonly columns: number;
  /** The height of a terminal; undefined if it is unknown. */
  readonly rows?: number | undefined;
  /** The reader has closed the stream; further writes are dropped. */
  readonly isClosed: boolean;
  /** For prompts, which write to the stream directly. */
  readonly stream: Writable;
};

type TextInput = { readonly isTerminal: boolean; readonly stream: Readable };

export type InterruptSignal = "SIGINT" | "SIGTERM";

/** All I/O of a command, injectable so that tests run commands in their own process. */
export type CliContext = {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  readonly stdin: TextInput;
  readonly env: Environment;
  /** The base of relative paths. */
  readonly cwd: string;
  readonly clock: Clock;
  /** The operating system's user name; null if it has none. */
  readonly userName: string | null;
  /** The operating system's user id; null if it has none. */
  readonly userId: string | null;
  /** Calls back on Ctrl-C and SIGTERM until the returned function is called; without a listener they end the process. */
  onInterrupt(listener: (signal: InterruptSignal) => void): () => void;
  readonly useColour: boolean;
  /** Sends all other writes to stdout to stderr from now on, so that stdout holds one JSON document. */
  keepStdoutForDocuments(): void;
  /** Exits the process immediately; only for a second Ctrl-C. */
  quit(exitCode: number): never;
};

/** The part of the context that is needed to find the configuration and the files it names. */
export type CliEnvironment = Pick<CliContext, "cwd" | "env">;

/** Wide enough for a table, narrow enough for a log. */
const COLUMNS_WITHOUT_TERMINAL = 100;

/** The context of this process. */
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
    useColour: wantsColour(stdout, process.env),
    keepStdoutForDocuments: () => {
      process.stdout.write = process.stderr.write.bind(process.stderr);
    },
    quit: (exitCode) => process.exit(exitCode),
  };
}

/** True on a terminal unless the user has turned colours off: https://no-color.org. */
export function wantsColour({ isTerminal }: Pick<TextOutput, "isTerminal">, env: CliContext["env"]): boolean {
  return isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
}

function processOutput(stream: NodeJS.WriteStream): TextOutput {
  let isClosed = false;
  // Without a listener, a closed pipe would crash the process.
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
    get rows() {
      return stream.rows as number | undefined;
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
