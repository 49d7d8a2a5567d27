import { spawnSync } from "node:child_process";

/** One life of a worker. With a crash point among the arguments it ends there, by SIGKILL. */
export function live(title: string, worker: string, args: readonly string[], crash: readonly string[]): void {
  console.log(`\n${title}`);
  const { signal, status } = spawnSync(process.execPath, [worker, ...args, ...crash], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (signal === "SIGKILL") console.log("  ✗ killed with SIGKILL");
  const isExpected = crash.length > 0 ? signal === "SIGKILL" : status === 0;
  if (!isExpected)
    throw new Error(`The worker ended with ${signal ?? `code ${status}`}, which is not what the demo does.`);
}

/** What was counted outside, beside what is right; the exit code says whether they are the same. */
export function compare(
  rows: readonly [what: string, expected: number, counted: number][],
  lesson: string,
): void {
  console.log(`\n${"".padEnd(50)}expected  counted`);
  for (const [what, expected, counted] of rows) {
    const mark = expected === counted ? "✓" : "✗";
    console.log(`${what.padEnd(50)}${String(expected).padStart(8)}${String(counted).padStart(9)}  ${mark}`);
  }
  const isRight = rows.every(([, expected, counted]) => expected === counted);
  console.log(isRight ? `\n${lesson}\n` : "\nSomething is wrong.\n");
  process.exitCode = isRight ? 0 : 1;
}
