// The checks that run no code: types, lint, format, and exports or files that nothing uses.

import { spawnSync } from "node:child_process";

const CHECKS = [
  { name: "types", script: "typecheck", hint: "" },
  { name: "lint", script: "lint", hint: "" },
  { name: "format", script: "format:check", hint: ": `npm run format` fixes it" },
  { name: "unused code", script: "unused", hint: ": delete it, or do not export it" },
] as const;

/** Runs all checks and prints one line for each; the output of a check only if it fails. */
export function passesStaticChecks(): boolean {
  const failed = CHECKS.filter((check) => !passes(check)).map(({ name }) => name);
  if (failed.length > 0) console.log(`\nFailed: ${failed.join(", ")}.`);
  return failed.length === 0;
}

function passes({ name, script, hint }: (typeof CHECKS)[number]): boolean {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync("npm", ["run", "--silent", script], { encoding: "utf8" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const passed = status === 0;
  console.log(passed ? `✓ ${name} (${seconds} s)` : `✗ ${name}${hint}\n${stdout}${stderr}`.trimEnd());
  return passed;
}
