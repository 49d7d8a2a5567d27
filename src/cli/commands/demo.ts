import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ConfigurationError } from "../../core/errors.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, ExitCode } from "../context/command.ts";

export const demo: Command = {
  name: "demo",
  summary: "See a research agent be killed, go on, and send its mail once",
  arguments: [],
  options: [
    { flags: "--seed <n>", summary: "the same number, the same story" },
    { flags: "--keep <dir>", summary: "leave its database and files in this folder" },
  ],
  example: "pawl demo --seed 7",
  execute: async (context, input) => {
    const seed = input.wholeNumber("seed", 0);
    const keep = input.text("keep");
    const words = [
      ...(seed === null ? [] : ["--seed", String(seed)]),
      ...(keep === null ? [] : ["--keep", keep]),
      ...(input.json ? ["--json"] : []),
    ];
    // It prints by itself, and its document with --json.
    return { exitCode: await runDemo(context, words), text: "", document: undefined };
  },
};

/** A process of its own: it kills its own workers, and is no part of the command line. */
function runDemo(context: CliContext, words: readonly string[]): Promise<ExitCode> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const main = fileURLToPath(new URL(`../../demo/main.${extension}`, import.meta.url));
  if (!existsSync(main))
    throw new ConfigurationError(`The demo is missing from this installation (${main}): install Pawl again.`);
  const env = context.useColour ? context.env : { ...context.env, NO_COLOR: "1" };
  const child = spawn(process.execPath, [main, ...words], { stdio: "inherit", cwd: context.cwd, env });
  // Ctrl-C reaches the child too, which cleans up; this process has to outlive it.
  const forget = context.onInterrupt((signal) => {
    if (signal === "SIGTERM") child.kill(signal);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      forget();
      resolve(signal === null ? exitCodeOf(code) : 130);
    });
  });
}

function exitCodeOf(code: number | null): ExitCode {
  const known: readonly ExitCode[] = [0, 1, 2, 3, 130];
  return known.find((each) => each === code) ?? 1;
}
