/**
 * `npm run demo`: kills an agent twice with SIGKILL, at the two worst moments, resumes it in a new process each time, and
 * counts from outside what happened.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/index.ts";
import { compare, runWorker } from "../demo.ts";
import { OutsideWorld } from "./outside-world.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-demo-"));
const file = (name: string) => join(folder, name);
const [database, log, witness] = [file("pawl.db"), file("outside.log"), file("model.log")];

const worker = fileURLToPath(new URL("./worker.ts", import.meta.url));
const run = (title: string, ...crash: string[]) => runWorker(title, worker, [database, log, witness], crash);

try {
  run(
    "Process 1 is killed in turn 3, after the note was sent and before its receipt was stored.",
    "tool:executed",
    "3",
  );
  run("Process 2 is killed between turn 4 and turn 5.", "turn:committed", "4");
  run("Process 3 is not killed.");

  const store = await openStore(`file:${database}`);
  const [record] = await store.listRuns();
  const turns = record === undefined ? [] : await store.listTurns(record.runId);
  await store.close();
  const outside = new OutsideWorld(log);
  const asked = existsSync(witness) ? readFileSync(witness, "utf8").trimEnd().split("\n").length : 0;
  compare(
    [
      ["turns committed", 6, turns.filter((turn) => turn.committed).length],
      ["model calls", 6, asked],
      ["notes delivered", 5, outside.count("delivered")],
      ["repeated notes the other side dropped by key", 1, outside.count("dropped")],
    ],
    "Two kills, and nothing was lost, paid for or sent twice.",
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
