// Before the tests: each of the workers that they kill in one file with all it loads, since the tests start more than a
// thousand of them, and from its hundreds of sources one takes twice as long to start. The folder with the files is given to
// the tests, and is gone after them.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
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
  }
}

const repository = fileURLToPath(new URL("../../", import.meta.url));

export default async function bundleWorker(project: TestProject): Promise<() => void> {
  const cache = join(repository, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "crash-worker-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await bundle(folder, ["test/crash/worker.ts"]);
    await bundle(join(folder, "demo"), ["src/demo/killed-job.ts", "src/demo/worker.ts"], LEFT_TO_NODE);
  } catch (error) {
    remove();
    throw error;
  }
  project.provide("crashWorker", folder);
  return remove;
}

/** What the demo may load and what its job without a key does not; pdfkit reads its fonts from beside its own code. */
const LEFT_TO_NODE = ["pdfkit", "nodemailer", "ai", /^@ai-sdk\//];

async function bundle(folder: string, files: readonly string[], external: (string | RegExp)[] = []) {
  const built = await rolldown({
    input: files.map((file) => join(repository, file)),
    platform: "node",
    external,
    logLevel: "silent", // it warns about packages of others
  });
  // By their names: what is only called .js is read twice, to find out which kind of module it is.
  await built.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  });
  // They are read from beside the code that applies them.
  cpSync(join(repository, "src/store/sqlite/migrations"), join(folder, "migrations"), { recursive: true });
}
