import assert from "node:assert/strict";
import { assertRefused, type Check, check } from "../check.ts";
import { FAILED, newReceipt, SampleRun } from "../sample-run.ts";
import {
  appliedIn,
  eventTurn,
  milestone,
  milestoneTurn,
  slicesOf,
  startLineage,
  wholeSlice,
} from "../sample-session.ts";

/** Saves the checkpoint of a turn after its commit. */
function save(run: SampleRun, turnIndex: number): Promise<number> {
  const { store, fence, stepKey } = run;
  return store.saveCheckpoint(fence, { stepKey, turnIndex, checkpoint: milestone({ turn: turnIndex }) });
}

export const lateCheckpointChecks: readonly Check[] = [
  check(
    "a checkpoint may be saved after the commit of its turn, with the place of that turn",
    async (scene) => {
      const { store, now, advance } = scene;
      const run = await SampleRun.create(store);
      await milestoneTurn(run, 1);
      await eventTurn(run, 2, { slices: [wholeSlice("a", [1])] });
      advance(5);
      await run.open(3);
      assert.equal(await save(run, 2), 2);
      const saved = await store.readCheckpoint(run.runId);
      assert.deepEqual(
        [saved?.checkpoint, saved?.type, saved?.turnIndex, saved?.at, saved?.snapshot],
        [2, "milestone", 2, now(), { turn: 2 }],
      );
      const { type, data } = await run.lastEvent();
      assert.deepEqual([type, data], ["checkpoint.saved", { step: "draft", turn: 2, checkpoint: 2 }]);
      assert.deepEqual((await store.verify(run.runId)).problems, []);
    },
  ),

  check(
    "the session can be rolled back to it: what came before stays, what came after goes",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await eventTurn(run, 1, { slices: [wholeSlice("a", [1])] });
      await save(run, 1);
      await eventTurn(run, 2, { slices: [wholeSlice("a", [1, 2])] });
      await startLineage(run, 1, { slices: [wholeSlice("a", [1])] });
      assert.deepEqual(await slicesOf(store, run.runId), { a: [1] });
      assert.deepEqual(await appliedIn(store, run.runId), [run.callId(1, 1)]);
      assert.equal((await store.listLineages(run.runId))[0]?.baseTurn, 1);
    },
  ),

  check("it is saved once the next turn is journaled, and until that is committed", async ({ store }) => {
    const run = await SampleRun.create(store);
    await eventTurn(run, 1);
    await run.journaled(2, ["running"]);
    assert.equal(await save(run, 1), 1);
    await store.commitTurn(run.fence, run.commit(2, { receipts: [newReceipt(1)] }));
    await assertRefused(store, run.runId, () => save(run, 1));
  }),

  check(
    "it is refused for a turn that is not committed, or that a new lineage has abandoned",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await eventTurn(run, 1);
      await run.journaled(2, ["running"]);
      await assertRefused(store, run.runId, () => save(run, 2));
      await run.receipt(2, 1);
      await startLineage(run);
      for (const turn of [0, 1, 2, 3]) await assertRefused(store, run.runId, () => save(run, turn));
    },
  ),

  check("it is refused if a lineage has begun right after its turn", async ({ store }) => {
    const run = await SampleRun.create(store);
    await eventTurn(run, 1);
    assert.equal(await startLineage(run), 2);
    await assertRefused(store, run.runId, () => save(run, 1));
  }),

  check("it is refused once its step has ended, or its run was released", async ({ store }) => {
    const run = await SampleRun.create(store);
    await eventTurn(run, 1);
    await run.committed(2, { isComplete: true });
    assert.equal(await save(run, 2), 1, "the last turn of a step has one, too");
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
    await assertRefused(store, run.runId, () => save(run, 2));
    const polish = await run.at("polish");
    await polish.committed(1);
    await store.releaseRun(run.fence, FAILED);
    await assertRefused(store, run.runId, () => save(polish, 1));
  }),
];
