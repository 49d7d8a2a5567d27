/**
 * `npm run demo`, the second part: an agent is killed right after its effects went out and before their receipts were
 * stored. What can be looked up is looked up; what cannot is put before a person; nothing is done twice.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore, type Store, type WaitRecord } from "../../src/index.ts";
import { compare, live } from "../demo.ts";
import { OutsideWorld } from "./outside-world.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-demo-"));
const [database, log] = [join(folder, "pawl.db"), join(folder, "outside.log")];

const worker = fileURLToPath(new URL("./worker.ts", import.meta.url));
const run = (title: string, ...crash: string[]) => live(title, worker, [database, log], crash);

/** What a person does, with nothing running: the question and its answer are rows. */
async function decide(title: string, act: (store: Store, wait: WaitRecord) => Promise<void>): Promise<void> {
  console.log(`\n${title}`);
  const store = await openStore(`file:${database}`);
  const [record] = await store.listRuns({ status: "waiting" });
  const waits = record === undefined ? [] : await store.listWaits(record.runId);
  const wait = waits.find(({ status }) => status === "open");
  if (wait === undefined) throw new Error("Nobody is asked anything, which is not what the demo does.");
  await act(store, wait);
  await store.close();
}

try {
  run(
    "Process 1 is killed in turn 1, after the refund went out and before its receipt was stored.",
    "tool:executed",
    "1",
  );
  run(
    "Process 2 looks the refund up. Then it is killed in turn 2, after the letter was posted.",
    "tool:executed",
    "2",
  );
  run("Process 3 cannot look a letter up, and does not write it again.");
  await decide("A person looks: the letter is in the box.", (store, { toolCallId }) =>
    store.settle(toolCallId ?? "", { as: "succeeded", result: "posted" }, { by: "Grace" }),
  );
  run("Process 4 goes on, as far as it may.");
  await decide("A person reads what is to be done, and approves it.", async (store, wait) => {
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
      ["rows that are not what was written", 0, problems.length],
    ],
    "Two effects whose outcome was unknown, and neither was had twice.",
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
