/**
 * `npm run demo`: kills an agent twice with SIGKILL, at the two worst moments, lets a new process go on each time, and
 * counts from outside what happened.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/index.ts";
import { OutsideWorld } from "./outside-world.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-demo-"));
const [database, log, witness] = ["pawl.db", "outside.log", "model.log"].map((name) => join(folder, name));
if (database === undefined || log === undefined || witness === undefined) throw new Error("unreachable");

/** One life of the worker. With a crash point it ends there, by SIGKILL. */
function live(title: string, ...crash: string[]): void {
  console.log(`\n${title}`);
  const worker = fileURLToPath(new URL("./worker.ts", import.meta.url));
  const { signal, status } = spawnSync(
    process.execPath,
    [worker, database ?? "", log ?? "", witness ?? "", ...crash],
    {
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (signal === "SIGKILL") console.log("  ✗ killed with SIGKILL");
  const expected = crash.length > 0 ? signal === "SIGKILL" : status === 0;
  if (!expected)
    throw new Error(`The worker ended with ${signal ?? `code ${status}`}, which is not what the demo does.`);
}

try {
  live(
    "Process 1 is killed in turn 3, after the note was sent and before its receipt was stored.",
    "tool:executed",
    "3",
  );
  live("Process 2 is killed between turn 4 and turn 5.", "turn:committed", "4");
  live("Process 3 is left alone.");

  const store = await openStore(`file:${database}`);
  const [run] = await store.listRuns();
  const turns = run === undefined ? [] : await store.listTurns(run.runId);
  await store.close();
  const outside = new OutsideWorld(log);
  const asked = existsSync(witness) ? readFileSync(witness, "utf8").trimEnd().split("\n").length : 0;
  const rows: [what: string, expected: number, counted: number][] = [
    ["turns committed", 6, turns.filter((turn) => turn.committed).length],
    ["model calls", 6, asked],
    ["notes delivered", 5, outside.count("delivered")],
    ["second tries the other side dropped by their key", 1, outside.count("dropped")],
  ];
  console.log(`\n${"".padEnd(50)}expected  counted`);
  for (const [what, expected, counted] of rows) {
    const mark = expected === counted ? "✓" : "✗";
    console.log(`${what.padEnd(50)}${String(expected).padStart(8)}${String(counted).padStart(9)}  ${mark}`);
  }
  const wrong = rows.filter(([, expected, counted]) => expected !== counted);
  console.log(
    wrong.length === 0
      ? "\nTwo kills, and nothing was lost, paid for or sent twice.\n"
      : "\nThat is not right.\n",
  );
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
