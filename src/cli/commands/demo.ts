import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { ConfigurationError } from "../../core/errors.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, ExitCode } from "../context/command.ts";
import { ownProgram } from "../own-files.ts";

export const demo: Command = {
  name: "demo",
  summary: "Watch a research agent being killed, resume, and send its mail once",
  arguments: [],
  options: [
    { flags: "--seed <n>", summary: "the same seed replays the same story" },
    { flags: "--keep <dir>", summary: "keep its database and files in this folder" },
    { flags: "--serve", summary: "open the dashboard on the run, and keep it open until Ctrl-C" },
  ],
  example: "pawl demo --seed 7",
  execute: async (context, input) => {
    const seed = input.wholeNumber("seed", 0);
    const keep = input.text("keep");
    const words = [
      ...(seed === null ? [] : ["--seed", String(seed)]),
      ...(keep === null ? [] : ["--keep", keep]),
      ...(input.flag("serve") ? ["--serve"] : []),
      ...(input.json ? ["--json"] : []),
    ];
    // The demo prints its own output, and its own document with --json.
    return { exitCode: await runDemo(context, words), text: "", document: undefined };
  },
};

/** Runs the demo in its own process: it kills its workers, and is not part of the command line. */
function runDemo(context: CliContext, words: readonly string[]): Promise<ExitCode> {
  const main = ownProgram("demo/main");
  if (!existsSync(main))
    throw new ConfigurationError(`The demo is missing from this installation (${main}): reinstall Pawl.`);
  const env = context.useColour ? context.env : { ...context.env, NO_COLOR: "1" };
  const child = spawn(process.execPath, [main, ...words], { stdio: "inherit", cwd: context.cwd, env });
  // Ctrl-C reaches the child too, which cleans up; this process must outlive it.
  const stopListening = context.onInterrupt((signal) => {
    if (signal === "SIGTERM") child.kill(signal);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      stopListening();
      resolve(signal === null ? exitCodeOf(code) : 130);
    });
  });
}

function exitCodeOf(code: number | null): ExitCode {
  const known: readonly ExitCode[] = [0, 1, 2, 3, 130];
  return known.find((each) => each === code) ?? 1;
}
