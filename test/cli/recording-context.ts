import { PassThrough } from "node:stream";
import type { CliContext, InterruptSignal, TextOutput } from "../../src/cli/context/cli-context.ts";
import { runCommandLine } from "../../src/cli/program.ts";
import { systemClock } from "../../src/engine/ports/system-clock.ts";

/** A context that records the output of a command, and whose signals a test sends. */
export type Recording = {
  readonly context: CliContext;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly interrupt: (signal?: InterruptSignal) => void;
  /** The reader of stdout has closed it. */
  readonly closeStdout: () => void;
};

export type ContextOptions = {
  readonly cwd?: string;
  readonly env?: CliContext["env"];
  readonly columns?: number;
  readonly isTerminal?: boolean;
  readonly useColour?: boolean;
  readonly userName?: string | null;
  readonly clock?: CliContext["clock"];
};

export function recordingContext(options: ContextOptions = {}): Recording {
  const { columns = 80, isTerminal = false, cwd = "/nowhere", userName = "tester" } = options;
  const texts = { stdout: "", stderr: "" };
  const listeners = new Set<(signal: InterruptSignal) => void>();
  let isClosed = false;
  const output = (name: keyof typeof texts): TextOutput => ({
    write: (text) => {
      if (name === "stderr" || !isClosed) texts[name] += text;
    },
    drained: () => Promise.resolve(),
    isTerminal,
    columns,
    get isClosed() {
      return name === "stdout" && isClosed;
    },
    stream: new PassThrough(),
  });
  return {
    context: {
      stdout: output("stdout"),
      stderr: output("stderr"),
      stdin: { isTerminal, stream: new PassThrough() },
      env: options.env ?? {},
      cwd,
      clock: options.clock ?? systemClock,
      userName,
      userId: userName === null ? null : `id of ${userName}`,
      onInterrupt: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      useColour: options.useColour ?? false,
      keepStdoutForDocuments: () => undefined,
      quit: (exitCode) => {
        throw new Error(`quit with ${exitCode}`);
      },
    },
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    interrupt: (signal = "SIGINT") => {
      for (const listener of listeners) listener(signal);
    },
    closeStdout: () => {
      isClosed = true;
    },
  };
}

export type Finished = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** Runs one command line in this process. */
export async function pawl(argv: readonly string[], options: ContextOptions = {}): Promise<Finished> {
  const recording = recordingContext(options);
  const exitCode = await runCommandLine(argv, recording.context);
  return { exitCode, stdout: recording.stdout(), stderr: recording.stderr() };
}

/** Runs it with `--json`: stdout must be one document, and nothing else. */
export async function pawlJson<D>(
  argv: readonly string[],
  options: ContextOptions = {},
): Promise<{ readonly exitCode: number; readonly document: D }> {
  const { exitCode, stdout } = await pawl([...argv, "--json"], options);
  return { exitCode, document: JSON.parse(stdout) as D };
}
