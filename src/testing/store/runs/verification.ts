import assert from "node:assert/strict";
import type { Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral } from "../check.ts";
import { blobReceipt, FAILED, LEASE_MS, SampleRun, sha256 } from "../sample-run.ts";
import { EVIDENCE, jobScenario, LARGE, ledgerScenario, turnScenario } from "../store-scenarios.ts";

/** Asserts that there are no problems, and that everything was checked. */
async function assertIntact(store: Store, runId: string, blobs: number): Promise<void> {
  const calls = await store.listToolCalls(runId);
  assert.deepEqual(await store.verify(runId), {
    runId,
    events: (await store.listEvents(runId)).length,
    receipts: calls.filter(({ receipt }) => receipt !== null).length,
    blobs,
    problems: [],
  });
}

export const verificationChecks: readonly Check[] = [
  check("a run that has just begun is what was written", async ({ store }) => {
    const run = await SampleRun.create(store);
    await assertIntact(store, run.runId, 0);
  }),

  check("a run that succeeded is what was written", async ({ store, advance }) => {
    await turnScenario(store, advance);
    await assertIntact(store, "run-1", 0);
  }),

  check("a run that used every feature of the ledger is what was written", async ({ store, advance }) => {
    await ledgerScenario(store, advance);
    assert.notDeepEqual(LARGE, EVIDENCE);
    await assertIntact(store, "ledger", 2);
    assert.ok((await store.verify("ledger")).receipts === 7);
  }),

  check("a job and its fork are what was written", async (scene) => {
    const { store, advance } = scene;
    await jobScenario(store, advance);
    await assertIntact(store, "job", 4);
    await assertIntact(store, "job-fork", 3);
    assert.deepEqual((await store.verify("job-fork")).receipts, 4, "copied rows are verified too");
  }),

  check("a run is what was written at every point of its life", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    const sound = (blobs = 0) => assertIntact(store, run.runId, blobs);
    await run.open(1);
    await sound();
    await store.journalResponse(run.fence, run.journal(1, ["running", "prepared"]));
    await sound();
    await run.receipt(1, 1, blobReceipt(1, LARGE));
    await sound(1);
    advance(LEASE_MS);
    run = await run.takenOver();
    await run.waiting(run.approval(1, 2, sha256("arguments").toString("hex")));
    await sound(1);
    await store.deny("run-1~1", "No.");
    await sound(1);
    run = await run.takenOver();
    await store.releaseRun(run.fence, FAILED);
    await sound(1);
    run = await run.takenOver();
    await run.receipt(1, 2, { status: "cancelled" });
    await store.releaseRun(run.fence, { status: "cancelled", error: null });
    await sound(1);
  }),

  check("a refused intent leaves nothing to find", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared"]);
    await Promise.allSettled([
      run.receipt(1, 1, { ...blobReceipt(1, LARGE), status: "cancelled" }),
      run.receipt(1, 2),
      run.start(1, 1),
      run.start(1, 2),
      store.commitTurn(run.fence, run.commit(1)),
      store.settle("run-1/draft#1.1", { as: "retry" }),
    ]);
    await assertIntact(store, run.runId, 0);
  }),

  check("each run is verified on its own", async ({ store, advance }) => {
    await turnScenario(store, advance);
    await ledgerScenario(store, advance);
    await assertIntact(store, "run-1", 0);
    await assertIntact(store, "ledger", 2);
  }),

  check("verifying changes nothing", async ({ store, advance }) => {
    await ledgerScenario(store, advance);
    const events = await store.listEvents("ledger");
    await store.verify("ledger");
    assert.deepEqual(await store.listEvents("ledger"), events);
  }),

  checkSeveral("rows of a run written by several processes verify together", async (scene) => {
    const { store, fallSilent } = scene;
    const other = await scene.openAnother();
    let run = await SampleRun.create(store);
    for (const [i, next] of [other, store, other].entries()) {
      await run.committedWithCall(i + 1);
      await fallSilent(LEASE_MS);
      run = await run.takenOver(next);
      await assertIntact(store, run.runId, 0);
      await assertIntact(other, run.runId, 0);
    }
  }),
];
