/**
 * `npm run demo`, the second part: an agent is killed right after its effects and before their receipts were stored. An effect
 * that can be looked up is looked up; for another, a person is asked; nothing is done twice.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore, type Store, type WaitRecord } from "../../src/index.ts";
import { compare, runWorker } from "../demo.ts";
import { OutsideWorld } from "./outside-world.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-demo-"));
const [database, log] = [join(folder, "pawl.db"), join(folder, "outside.log")];

const worker = fileURLToPath(new URL("./worker.ts", import.meta.url));
const run = (title: string, ...crash: string[]) => runWorker(title, worker, [database, log], crash);

/** A person's decision. No worker is running: the question and its answer are rows. */
async function decide(title: string, act: (store: Store, wait: WaitRecord) => Promise<void>): Promise<void> {
  console.log(`\n${title}`);
  const store = await openStore(`file:${database}`);
  const [record] = await store.listRuns({ status: "waiting" });
  const waits = record === undefined ? [] : await store.listWaits(record.runId);
  const wait = waits.find(({ status }) => status === "open");
  if (wait === undefined) throw new Error("There is no open question, which the demo does not expect.");
  await act(store, wait);
  await store.close();
}

try {
  run(
    "Process 1 is killed in turn 1, after the refund was sent and before its receipt was stored.",
    "tool:executed",
    "1",
  );
  run(
    "Process 2 looks the refund up. Then it is killed in turn 2, after the letter was posted.",
    "tool:executed",
    "2",
  );
  run("Process 3 cannot look up a letter, and does not send it again.");
  await decide("A person checks: the letter is in the box.", (store, { toolCallId }) =>
    store.settle(toolCallId ?? "", { as: "succeeded", result: "posted" }, { by: "Grace" }),
  );
  run("Process 4 resumes, until it needs an approval.");
  await decide("A person reads the arguments, and approves the call.", async (store, wait) => {
    console.log(`  ${JSON.stringify(wait.subject.arguments)}`);
    await store.approve(wait.waitId, { by: "Grace" });
  });
  run("Process 5 finishes.");

  const outside = new OutsideWorld(log);
  const store = await openStore(`file:${database}`);
  const [record] = await store.listRuns();
  const problems = record === undefined ? [] : (await store.verify(record.runId)).problems;
  await store.close();
  compare(
    [
      ["refunds", 1, outside.count("refund")],
      ["letters", 1, outside.count("letter")],
      ["accounts closed", 1, outside.count("closed")],
      ["rows changed since they were written", 0, problems.length],
    ],
    "Two effects had an unknown outcome, and neither happened twice.",
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
