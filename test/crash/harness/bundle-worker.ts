// Runs before the tests: bundles the programs that they start most often, the worker that the crash tests kill more than a
// thousand times and the command line, since they take twice as long to start from their hundreds of sources. The tests get
// the folder with the bundles; it is removed after them.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * The folder with the bundles: `worker.mjs`, the worker of the crash tests, and `demo/killed-job.mjs`, beside the
     * worker that it starts.
     */
    readonly crashWorker: string;
    /** The folder that replaces the repository when the command line is started: `src/cli/main.mjs` and PAWL_FILES. */
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
    await bundle(join(folder, "demo"), ["src/demo/killed-job.ts", "src/demo/worker.ts"], NOT_BUNDLED);
    await bundlePawl(join(folder, "pawl"));
  } catch (error) {
    remove();
    throw error;
  }
  project.provide("crashWorker", folder);
  project.provide("bundledPawl", join(folder, "pawl"));
  return remove;
}

/** Packages that the demo loads only with a key; and pdfkit, which reads its fonts from beside its own code. */
const NOT_BUNDLED = ["pdfkit", "nodemailer", "ai", /^@ai-sdk\//];

/** The command line, and the modules that the configurations of its tests import. */
const PAWL_FILES = [
  "src/cli/main",
  "src/index",
  "src/engine/definition/config",
  "src/testing/index",
  "src/testing/scripted-model",
];

/** Shared chunks are in `src/cli`, from where they find the manifest; zod is not bundled, so that configurations share it. */
async function bundlePawl(folder: string): Promise<void> {
  const input = Object.fromEntries(PAWL_FILES.map((file) => [file, join(repository, `${file}.ts`)]));
  await write(folder, input, [...NOT_BUNDLED, /^zod(\/|$)/], "src/cli/");
  cpSync(join(repository, "package.json"), join(folder, "package.json"));
}

export async function bundle(folder: string, files: readonly string[], external: (string | RegExp)[] = []) {
  await write(
    folder,
    Object.fromEntries(files.map((file) => [nameOf(file), join(repository, file)])),
    external,
  );
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
    logLevel: "silent", // it warns about third-party packages
  });
  // Named .mjs: Node parses a .js file twice to find out which kind of module it is.
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
