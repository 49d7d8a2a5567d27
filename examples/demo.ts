import { spawnSync } from "node:child_process";

/** Runs a worker process. With a crash point among the arguments, it dies there by SIGKILL. */
export function runWorker(
  title: string,
  worker: string,
  args: readonly string[],
  crash: readonly string[],
): void {
  console.log(`\n${title}`);
  const { signal, status } = spawnSync(process.execPath, [worker, ...args, ...crash], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (signal === "SIGKILL") console.log("  ✗ killed with SIGKILL");
  const isExpected = crash.length > 0 ? signal === "SIGKILL" : status === 0;
  if (!isExpected)
    throw new Error(`The worker ended with ${signal ?? `code ${status}`}, which the demo does not expect.`);
}

/** Prints the counts from outside beside the expected ones; the exit code is 0 if they are equal. */
export function compare(
  rows: readonly [what: string, expected: number, counted: number][],
  conclusion: string,
): void {
  console.log(`\n${"".padEnd(50)}expected  counted`);
  for (const [what, expected, counted] of rows) {
    const mark = expected === counted ? "✓" : "✗";
    console.log(`${what.padEnd(50)}${String(expected).padStart(8)}${String(counted).padStart(9)}  ${mark}`);
  }
  const isRight = rows.every(([, expected, counted]) => expected === counted);
  console.log(isRight ? `\n${conclusion}\n` : "\nSomething is wrong.\n");
  process.exitCode = isRight ? 0 : 1;
}
