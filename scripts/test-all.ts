// What `npm test` and .ci/run do once everything is installed: static checks, then the tests.
// The last line it prints is "N passed, N failed", taken from the tests' own result. When the tests did not
// run there is no such line, so that a broken check does not look like an empty one.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countsFileVariable, type TestCounts } from "./count-reporter.ts";

const staticChecks = [
  { name: "types", script: "typecheck", hint: "" },
  { name: "lint", script: "lint", hint: "" },
  { name: "format", script: "format:check", hint: ": `npm run format` fixes it" },
] as const;

process.exitCode = main(process.argv.slice(2));

function main(vitestArguments: readonly string[]): number {
  const failed = staticChecks.filter((check) => !passes(check)).map((check) => check.name);
  if (failed.length > 0) {
    console.log(`\nThe tests did not run, because of: ${failed.join(", ")}.`);
    return 1;
  }
  return runTests(vitestArguments);
}

function passes({ name, script, hint }: (typeof staticChecks)[number]): boolean {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync("npm", ["run", "--silent", script], { encoding: "utf8" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const passed = status === 0;
  console.log(passed ? `✓ ${name} (${seconds} s)` : `✗ ${name}${hint}\n${stdout}${stderr}`.trimEnd());
  return passed;
}

function runTests(vitestArguments: readonly string[]): number {
  // A new folder, so that an earlier result cannot be mistaken for this one.
  const folder = mkdtempSync(join(tmpdir(), "pawl-test-"));
  try {
    const countsFile = join(folder, "counts.json");
    const reporters = ["--reporter=default", "--reporter=./scripts/count-reporter.ts"];
    // A forgotten `.only` would silently skip the rest.
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
