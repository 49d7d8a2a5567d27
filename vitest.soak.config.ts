import { defineConfig } from "vitest/config";

/** Long runs, started by hand with `npm run test:soak`; never part of `npm test`. */
export default defineConfig({
  test: {
    include: ["test/soak/**/*.test.ts"],
    globalSetup: ["test/crash/bundle-worker.ts"],
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 30 * 60_000,
    hookTimeout: 60_000,
    passWithNoTests: true, // it then says "No test files found", so an empty folder is not mistaken for a pass
  },
});
