import { writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/** How many tests passed and failed. */
export type TestCounts = { readonly passed: number; readonly failed: number };

/** The environment variable with the path of the output file. */
export const countsFileVariable = "PAWL_TEST_COUNTS";

/**
 * Writes the counts of a test run into a file, for `test-all.ts`. Vitest's own JSON reporter would do, but it
 * announces its file in the middle of the output and does not count a file that could not be loaded.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = modules.map(countsOf);
    const total: TestCounts = {
      passed: counts.reduce((sum, { passed }) => sum + passed, 0),
      failed: counts.reduce((sum, { failed }) => sum + failed, 0),
    };
    const file = process.env[countsFileVariable];
    if (file !== undefined) writeFileSync(file, JSON.stringify(total));
  }
}

function countsOf(module: TestModule): TestCounts {
  const states = [...module.children.allTests()].map((test) => test.result().state);
  const passed = states.filter((state) => state === "passed").length;
  const failed = states.filter((state) => state === "failed").length;
  // A file that cannot be loaded, or whose set-up fails, has no failed test in it: it counts as one.
  const brokenAsAWhole = failed === 0 && module.state() === "failed";
  return { passed, failed: brokenAsAWhole ? 1 : failed };
}
