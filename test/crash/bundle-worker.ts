// Before the tests: the worker and all it loads in one file, since the tests start it more than a thousand times, and from
// its hundreds of sources it takes twice as long to start. The folder of the file is given to the tests, and is gone after them.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder with the worker of the crash tests, bundled: `worker.js`. */
    readonly crashWorker: string;
  }
}

const repository = fileURLToPath(new URL("../../", import.meta.url));

export default async function bundleWorker(project: TestProject): Promise<() => void> {
  const cache = join(repository, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "crash-worker-"));
  const bundle = await rolldown({
    input: join(repository, "test/crash/worker.ts"),
    platform: "node",
    logLevel: "silent", // it warns about packages of others
  });
  await bundle.write({ dir: folder, format: "esm" });
  // They are read from beside the code that applies them.
  cpSync(join(repository, "src/store/sqlite/migrations"), join(folder, "migrations"), { recursive: true });
  project.provide("crashWorker", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
