#!/usr/bin/env node
// No static imports here: they load before the version check, and an old Node would fail in the middle of them with a stack
// that explains nothing.

/** Open handles of user modules (a pool, a timer) get this long to finish; they do not keep the command from exiting. */
const GRACE_MS = 1_000;

/**
 * Sets `process.exitCode` instead of exiting, so that no output is cut off. A closed stdout (`pawl tail q-1 | head -1`) does not
 * change the code: the reader has enough, and the command's work is done.
 */
async function main(): Promise<void> {
  await keepCompiled();
  const { processContext } = await import("./context/cli-context.ts");
  const { reportUncaught, runCommandLine } = await import("./program.ts");
  const [words, context] = [process.argv.slice(2), processContext()];
  // An unhandled rejection in user code: its effects are unknown, so continuing would be a guess. The run can be resumed.
  process.once("uncaughtException", (error) => process.exit(reportUncaught(words, context, error)));
  process.exitCode = await runCommandLine(words, context);
  for (const stream of [process.stdout, process.stderr]) await flushed(stream);
  setTimeout(() => process.exit(), GRACE_MS).unref();
}

/**
 * A compile cache more than halves the load time. Cached code is executed, so it lives in a folder that only this user can write;
 * Node's default is in the shared temporary folder, where the first user to create it owns it.
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

const { nodeVersionProblem } = await import("../core/node-version.ts");
const problem = nodeVersionProblem(process.versions.node);
if (problem === null) await main();
else {
  console.error(`error: ${problem}`);
  process.exitCode = 1;
}
