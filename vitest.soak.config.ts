import { defineConfig } from "vitest/config";

const minutes = Number(process.env.PAWL_SOAK_MINUTES ?? "1.5");

/** Long runs, started by hand with `npm run test:soak -- --minutes 10 --seed 7`; never part of `npm test`. */
export default defineConfig({
  test: {
    include: ["test/soak/**/*.test.ts"],
    globalSetup: ["test/crash/harness/bundle-worker.ts"],
    pool: "forks",
    maxWorkers: 1,
    // What a test has begun when its time is over, it brings to its end.
    testTimeout: (minutes + 30) * 60_000,
    hookTimeout: 60_000,
    passWithNoTests: true, // it then says "No test files found", so an empty folder is not mistaken for a pass
  },
});
