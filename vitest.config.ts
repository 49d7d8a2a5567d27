import { existsSync, statfsSync } from "node:fs";
import { resolve } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";

const NOT_HERE = [...configDefaults.exclude, "test/soak/**"];
const SHARED = ["core", "session", "export", "engine"].map((folder) => `test/${folder}/**/*.test.ts`);

/** In memory where there is room: tests make thousands of databases and kill processes, but never pull a plug. */
const memory = "/dev/shm";
const isRoomy = existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 4 * 2 ** 30;

export default defineConfig({
  test: {
    // Real processes, since tests kill their children and open real databases. Two of them, so that tests
    // which start more processes do not starve each other on a small machine.
    globalSetup: ["test/crash/harness/bundle-worker.ts"],
    setupFiles: ["test/property-seed.ts"],
    pool: "forks",
    maxWorkers: 2,
    unstubEnvs: true,
    unstubGlobals: true,
    restoreMocks: true,
    // Tests start hundreds of processes: compiled once and kept, the sources load in less than half of the time.
    env: {
      NODE_COMPILE_CACHE: resolve(import.meta.dirname, "node_modules/.cache/compiled"),
      ...(isRoomy ? { TMPDIR: memory } : {}),
    },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      // They load the same sources, and nothing of them is kept outside of what they make: loaded once, they save a minute.
      { extends: true, test: { name: "shared", include: SHARED, exclude: NOT_HERE, isolate: false } },
      {
        extends: true,
        test: { name: "apart", include: ["test/**/*.test.ts"], exclude: [...NOT_HERE, ...SHARED] },
      },
    ],
  },
});
