// What `npm test` and .ci/run do once everything is installed: static checks, then the tests. With arguments, such as
// `npm test -- test/core`, only the tests that they name. The last line is "N passed, N failed", from the tests' own
// result. There is no such line when the tests did not run: a broken check must not look like an empty one.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countsFileVariable, type TestCounts } from "./count-reporter.ts";
import { passesStaticChecks } from "./static-checks.ts";

process.exitCode = main(process.argv.slice(2));

function main(vitestArguments: readonly string[]): number {
  // `npm test -- FILE` is for work on that file: it runs those tests and nothing else.
  if (vitestArguments.length === 0 && !passesStaticChecks()) {
    console.log("The tests did not run.");
    return 1;
  }
  return runTests(vitestArguments);
}

function runTests(vitestArguments: readonly string[]): number {
  // A folder of its own, so that there is never an earlier result to mistake for this one.
  const folder = mkdtempSync(join(tmpdir(), "pawl-test-"));
  try {
    const countsFile = join(folder, "counts.json");
    const reporters = ["--reporter=default", "--reporter=./scripts/count-reporter.ts"];
    // A forgotten `.only` would leave out the rest in silence.
    const { status } = spawnSync("vitest", ["run", "--allowOnly=false", ...reporters, ...vitestArguments], {
      stdio: "inherit",
      env: { ...process.env, [countsFileVariable]: countsFile },
    });
    return report(status, existsSync(countsFile) ? readCounts(countsFile) : undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCounts(file: string): TestCounts {
  return JSON.parse(readFileSync(file, "utf8")) as TestCounts; // written a moment ago by our own reporter
}

function report(status: number | null, counts: TestCounts | undefined): number {
  if (counts === undefined) {
    console.log("\nThe tests did not finish: there is no result.");
    return 1;
  }
  const { passed, failed } = counts;
  if (passed + failed === 0) console.log("No test ran.");
  else if (status !== 0 && failed === 0) console.log("No test failed, but the test run did: see above.");
  console.log(`${passed} passed, ${failed} failed`);
  return status === 0 && failed === 0 && passed > 0 ? 0 : 1;
}
