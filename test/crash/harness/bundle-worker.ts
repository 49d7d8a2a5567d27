// Before the tests: what they start most often, bundled into one file with all that it loads, since from its hundreds of
// sources it takes twice as long to start: the worker that the crash tests kill, more than a thousand times, and the command
// line. The folder with all of it is given to the tests, and is gone after them.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * The folder with what is bundled: `worker.mjs`, the worker of the crash tests, and `demo/killed-job.mjs` with the
     * worker that it starts beside it.
     */
    readonly crashWorker: string;
    /** The folder that stands for the repository where the command line is started: `src/cli/main.mjs` and PAWL_FILES. */
    readonly bundledPawl: string;
  }
}

const repository = fileURLToPath(new URL("../../../", import.meta.url));

export default async function bundleWorker(project: TestProject): Promise<() => void> {
  const cache = join(repository, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "crash-worker-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await bundle(folder, ["test/crash/harness/worker.ts"]);
    await bundle(join(folder, "demo"), ["src/demo/killed-job.ts", "src/demo/worker.ts"], LEFT_TO_NODE);
    await bundlePawl(join(folder, "pawl"));
  } catch (error) {
    remove();
    throw error;
  }
  project.provide("crashWorker", folder);
  project.provide("bundledPawl", join(folder, "pawl"));
  return remove;
}

/** What the demo may load and what its job without a key does not; pdfkit reads its fonts from beside its own code. */
const LEFT_TO_NODE = ["pdfkit", "nodemailer", "ai", /^@ai-sdk\//];

/** The command line, and what the configurations of its tests import. */
const PAWL_FILES = [
  "src/cli/main",
  "src/index",
  "src/engine/definition/config",
  "src/testing/index",
  "src/testing/scripted-model",
];

/** All that is shared is in `src/cli`, from where it finds the manifest; a configuration makes its schemas with the same zod. */
async function bundlePawl(folder: string): Promise<void> {
  const input = Object.fromEntries(PAWL_FILES.map((file) => [file, join(repository, `${file}.ts`)]));
  await write(folder, input, [...LEFT_TO_NODE, /^zod(\/|$)/], "src/cli/");
  copyMigrations(join(folder, "src/cli"));
  cpSync(join(repository, "package.json"), join(folder, "package.json"));
}

export async function bundle(folder: string, files: readonly string[], external: (string | RegExp)[] = []) {
  await write(
    folder,
    Object.fromEntries(files.map((file) => [nameOf(file), join(repository, file)])),
    external,
  );
  copyMigrations(folder);
}

async function write(
  dir: string,
  input: Record<string, string>,
  external: (string | RegExp)[],
  shared = "",
): Promise<void> {
  const built = await rolldown({
    input,
    platform: "node",
    external,
    logLevel: "silent", // it warns about packages of others
  });
  // By their names: what is only called .js is read twice, to find out which kind of module it is.
  await built.write({
    dir,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: `${shared}[name]-[hash].mjs`,
  });
}

function nameOf(file: string): string {
  return basename(file, ".ts");
}

/** They are read from beside the code that applies them. */
function copyMigrations(folder: string): void {
  cpSync(join(repository, "src/store/sqlite/migrations"), join(folder, "migrations"), { recursive: true });
}
