/**
 * `npm run demo`, the third part: an agent that plans four steps is killed inside the third one, and is replaced by another
 * version with another model. Its history is of no use any more; its plan, its results and the ledger are.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/index.ts";
import { compare, runWorker } from "../demo.ts";
import { OutsideWorld } from "../kill-and-resume/outside-world.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-demo-"));
const worker = fileURLToPath(new URL("./worker.ts", import.meta.url));

try {
  runWorker(
    "Process 1 is killed inside the third step, after the work was ordered.",
    worker,
    [folder, "model-a"],
    ["tool:executed", "6"],
  );
  console.log(`  left behind: ${readdirSync(join(folder, "workers/worker-001")).sort().join(", ")}`);
  runWorker(
    "Process 2 has another model. Same worker, same request, last milestone.",
    worker,
    [folder, "model-b"],
    [],
  );

  const outside = new OutsideWorld(join(folder, "outside.log"));
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  const [run] = await store.listRuns();
  const session = run === undefined ? [] : await store.readSession(run.runId);
  const problems = run === undefined ? [] : (await store.verify(run.runId)).problems;
  await store.close();
  const asked = readFileSync(join(folder, "model.log"), "utf8").trimEnd().split("\n").length;
  compare(
    [
      ["analyses ordered and paid for", 4, outside.count("delivered")],
      ["repeated orders the other side dropped by key", 1, outside.count("dropped")],
      [
        "results in the session",
        4,
        session.find(({ name }) => name === "AnalysisResult")?.values.length ?? 0,
      ],
      ["model calls", 11, asked],
      ["rows changed since they were written", 0, problems.length],
    ],
    "A new version took over: two steps were not repeated, and the third was paid for once.",
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
