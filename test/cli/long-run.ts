import type { Store } from "../../src/index.ts";
import { newReceipt, SampleRun } from "../../src/testing/store/sample-run.ts";

/** Intents per commit: writing a long run one by one would take minutes. */
const IN_ONE_COMMIT = 250;

/** A run of this many turns, each with one call whose result has some 600 characters. */
export async function writeLongRun(store: Store, runId: string, turns: number): Promise<void> {
  const run = await SampleRun.create(store, runId);
  await run.open(1);
  let written: Promise<unknown>[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const output = {
      type: "text",
      value: `${turn}: ${"A result that is as long as most are. ".repeat(16)}`,
    } as const;
    const isComplete = turn === turns;
    written.push(
      store.journalResponse(run.fence, run.journal(turn, ["running"])),
      store.commitTurn(
        run.fence,
        run.commit(turn, {
          receipts: [newReceipt(1, { output })],
          isComplete,
          messages: 2,
          next: isComplete ? null : run.opening(turn + 1),
        }),
      ),
    );
    if (written.length < IN_ONE_COMMIT && !isComplete) continue;
    await Promise.all(written);
    written = [];
  }
  await store.finishStep(run.fence, { stepKey: run.stepKey, output: "done", context: null });
  await store.releaseRun(run.fence, { status: "succeeded", output: "done", context: {} });
}
