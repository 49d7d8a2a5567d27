#!/usr/bin/env node
// Nothing is imported before the version is known to do: what is imported statically is loaded first, and an old Node
// would fail in the middle of it with a stack that says nothing.

const OLDEST = [22, 18] as const;

/** What a module of the user's leaves open (a pool, a timer) may finish, but does not keep the command from ending. */
const GRACE_MS = 1_000;

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

/**
 * The exit code is set rather than exited with, so that no output is cut off. A closed stdout (`pawl tail q-1 | head -1`)
 * changes no code: the reader has had what it wanted, and what the command did, it did.
 */
async function main(): Promise<void> {
  await keepCompiled();
  const { processContext } = await import("./context/cli-context.ts");
  const { reportFloating, runCommandLine } = await import("./program.ts");
  const [words, context] = [process.argv.slice(2), processContext()];
  // A promise that somebody's code forgot: nothing is known about it, and going on would be a guess. The run is resumable.
  process.once("uncaughtException", (error) => process.exit(reportFloating(words, context, error)));
  process.exitCode = await runCommandLine(words, context);
  for (const stream of [process.stdout, process.stderr]) await flushed(stream);
  setTimeout(() => process.exit(), GRACE_MS).unref();
}

/**
 * Compiled once and kept, the sources load in less than half of the time. What is kept is run, so it lies in a folder that only
 * this user writes; Node's own place is in the shared folder for temporary files, where the first to come owns it.
 */
async function keepCompiled(): Promise<void> {
  const { enableCompileCache } = await import("node:module");
  const { privateFolder } = await import("./config/private-folder.ts");
  const folder = privateFolder("cache", "compiled", process.env);
  if (folder !== null) enableCompileCache(folder);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}

if (isTooOld(process.versions.node)) {
  console.error(
    `error: Pawl needs Node ${OLDEST.join(".")} or newer and this is ${process.versions.node}: install a newer one from https://nodejs.org and try again.`,
  );
  process.exitCode = 1;
} else {
  await main();
}
