import assert from "node:assert/strict";
import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { ResumeError, RunNotFoundError } from "../../../core/errors.ts";
import type { Store } from "../../../store/store.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { blobReceipt, FAILED, LEASE_MS, newReceipt, SampleRun } from "../sample-run.ts";

const CALL = "run-1/draft#1.1";
const BYTES = Buffer.alloc(30_000, "late");
const { blobId: BLOB_ID } = blobReferenceOf(BYTES);

/** A run whose owner fell silent in the middle of its first call, and the next owner. */
async function lost(
  store: Store,
  advance: (ms: number) => void,
): Promise<{ early: SampleRun; later: SampleRun }> {
  const early = await SampleRun.create(store);
  await early.journaled(1, ["running", "running"]);
  await early.receipt(1, 2);
  advance(LEASE_MS);
  return { early, later: await early.takenOver() };
}

/** Asserts that it is kept with its attempt, and that nothing else has changed. */
async function assertKept(run: SampleRun, attempt: number, now: number): Promise<void> {
  const [before, calls] = [await run.tries(), await run.store.listToolCalls(run.runId)];
  const [record, waits] = [await run.record(), await run.waits()];
  const receipt = newReceipt(1, { output: { type: "text", value: "late 🙂" }, status: "failed" });
  assert.equal(await run.store.offerLateReceipt(run.late(1, attempt, receipt)), "kept");
  const late = { at: now, status: "failed", output: { type: "text", value: "late 🙂" } };
  assert.deepEqual(
    await run.tries(),
    before.map((each) => (each.toolCallId === CALL && each.attempt === attempt ? { ...each, late } : each)),
  );
  assert.deepEqual(await run.store.listToolCalls(run.runId), calls);
  assert.deepEqual(await run.waits(), waits);
  assert.deepEqual({ ...(await run.record()), updatedAt: 0 }, { ...record, updatedAt: 0 });
  const again = () => run.store.offerLateReceipt(run.late(1, attempt, newReceipt(1)));
  await assertRefused(run.store, run.runId, again, ResumeError);
}

export const lateReceiptChecks: readonly Check[] = [
  check("a late receipt settles the call of its attempt, while that is in doubt", async (scene) => {
    const { store, now, advance } = scene;
    const { early, later } = await lost(store, advance);
    advance(5);
    const receipt = newReceipt(1, { source: "tool", correlationId: "m-1", tokens: 3 });
    assert.equal(await store.offerLateReceipt(early.late(1, 1, receipt)), "settled");
    const call = await early.callAt(1, 1);
    const { callIndex: _, ...rest } = receipt;
    assert.deepEqual([call.status, call.receipt], ["succeeded", { ...rest, source: "late", at: now() }]);
    assert.deepEqual(
      (await early.tries()).map(({ outcome, late }) => [outcome, late]),
      [["lost", null]],
    );
    assert.equal((await early.record()).status, "running", "the worker keeps the run");
    const error = await assertRefused(store, early.runId, () => later.start(1, 1), ResumeError);
    assert.ok(ResumeError.isInstance(error) && error.recoverable);
    await store.commitTurn(later.fence, later.commit(1));
  }),

  check("a late failure settles its call too", async ({ store, advance }) => {
    const { early } = await lost(store, advance);
    const receipt = newReceipt(1, { status: "failed", uncertain: true, errorCode: "reset" });
    assert.equal(await store.offerLateReceipt(early.late(1, 1, receipt)), "settled");
    const call = await early.callAt(1, 1);
    assert.deepEqual(
      [call.status, call.receipt?.uncertain, call.receipt?.errorCode],
      ["failed", true, "reset"],
    );
  }),

  check("a late receipt of a code step's call settles it", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await store.openToolCall(run.fence, run.codeCall(1));
    await store.openToolCall(run.fence, run.codeCall(2));
    advance(LEASE_MS);
    await run.takenOver();
    assert.equal(await store.offerLateReceipt(run.late(0, 1, newReceipt(2))), "settled");
    assert.deepEqual(
      [(await run.callAt(0, 1)).status, (await run.callAt(0, 2)).status],
      ["in_doubt", "succeeded"],
    );
  }),

  check(
    "a tool that was given up on can still bring a receipt while its worker holds the run",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running"]);
      await run.endAttempt(1, 1, { inDoubt: true, hasEnded: false });
      assert.equal(await store.offerLateReceipt(run.late(1, 1, newReceipt(1))), "settled");
      assert.equal((await run.tries())[0]?.outcome, "timed_out");
      await store.commitTurn(run.fence, run.commit(1));
    },
  ),

  check("a late receipt that answers the last open wait queues the run", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.waiting(run.wait(1, 1), run.wait(1, 2, { kind: "escalation" }));
    await store.offerLateReceipt(run.late(1, 1, newReceipt(1)));
    assert.equal((await run.record()).status, "waiting", "another wait is open");
    await store.offerLateReceipt(run.late(1, 1, newReceipt(2)));
    assert.equal((await run.record()).status, "queued");
    assert.deepEqual(
      (await run.waits()).map((wait) => [wait.status, wait.answeredAt, wait.answeredBy, wait.answer]),
      [
        ["withdrawn", now(), null, null],
        ["withdrawn", now(), null, null],
      ],
    );
    const later = await run.takenOver();
    await store.commitTurn(later.fence, later.commit(1));
  }),

  check("a late receipt does not wake a run that waits for something else", async ({ store }) => {
    const paused = await SampleRun.create(store, "paused");
    await paused.journaled(1, ["running"]);
    await paused.waiting();
    assert.equal(await store.offerLateReceipt(paused.late(1, 1, newReceipt(1))), "settled");
    assert.equal((await paused.record()).status, "waiting");
    const failed = await SampleRun.create(store, "failed");
    await failed.journaled(1, ["running"]);
    await store.releaseRun(failed.fence, FAILED);
    assert.equal(await store.offerLateReceipt(failed.late(1, 1, newReceipt(1))), "settled");
    assert.equal((await failed.record()).status, "failed");
  }),

  check("once a person has settled the call, a late receipt is evidence", async ({ store, now, advance }) => {
    const { early } = await lost(store, advance);
    await store.settle(CALL, { as: "succeeded", result: "It went out." });
    advance(5);
    await assertKept(early, 1, now());
  }),

  check("once the call has its receipt from a later attempt, a late receipt is evidence", async (scene) => {
    const { early, later } = await lost(scene.store, scene.advance);
    await later.start(1, 1);
    await scene.store.commitTurn(later.fence, later.commit(1, { receipts: [newReceipt(1)] }));
    await assertKept(early, 1, scene.now());
  }),

  check("while a later attempt is running, a late receipt is evidence", async ({ store, now, advance }) => {
    const { early, later } = await lost(store, advance);
    await later.start(1, 1);
    await assertKept(early, 1, now());
    await later.receipt(1, 1);
  }),

  check(
    "a later attempt in doubt is not settled by the receipt of an earlier one",
    async ({ store, now, advance }) => {
      const { early, later } = await lost(store, advance);
      await later.start(1, 1);
      await later.waiting(later.wait(1, 1));
      await assertKept(early, 1, now());
      assert.equal((await early.record()).status, "waiting");
      assert.equal(await store.offerLateReceipt(early.late(1, 2, newReceipt(1))), "settled");
      assert.equal((await early.record()).status, "queued");
    },
  ),

  check(
    "a late receipt still settles a call that a person allowed to run again",
    async ({ store, advance }) => {
      const { early, later } = await lost(store, advance);
      await later.waiting(later.wait(1, 1));
      await store.settle(CALL, { as: "retry" });
      assert.equal(await store.offerLateReceipt(early.late(1, 1, newReceipt(1))), "settled");
      const again = await early.takenOver();
      await assertRefused(store, early.runId, () => again.start(1, 1), ResumeError);
    },
  ),

  check("the attempt that brought the receipt cannot add a late one", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    await assertRefused(
      store,
      run.runId,
      () => store.offerLateReceipt(run.late(1, 1, newReceipt(1))),
      ResumeError,
    );
  }),

  check(
    "a late receipt of an attempt that never happened, or is running, is refused",
    async ({ store, advance }) => {
      const { early } = await lost(store, advance);
      for (const attempt of [0, 2, -1, 1.5])
        await assertRefused(store, early.runId, () =>
          store.offerLateReceipt(early.late(1, attempt, newReceipt(1))),
        );
      const run = await SampleRun.create(store, "run-2");
      await run.journaled(1, ["running", "prepared"]);
      for (const callIndex of [1, 2])
        await assertRefused(store, run.runId, () =>
          store.offerLateReceipt(run.late(1, 1, newReceipt(callIndex))),
        );
    },
  ),

  check("a late receipt for a call that does not exist is refused", async ({ store, advance }) => {
    const { early } = await lost(store, advance);
    const other = await (await SampleRun.create(store, "run-2")).at("second");
    await other.journaled(1, ["running"]);
    await store.releaseRun(other.fence, FAILED);
    const mine = early.late(1, 1, newReceipt(1));
    const wrong = [
      { ...mine, stepKey: other.stepKey },
      { ...mine, stepKey: 999 },
      { ...mine, turnIndex: 2 },
      { ...mine, turnIndex: 0 },
      { ...mine, receipt: newReceipt(3) },
    ];
    for (const late of wrong) await assertRefused(store, early.runId, () => store.offerLateReceipt(late));
    const nobody = { ...mine, runId: "nobody" };
    await assertRefused(store, early.runId, () => store.offerLateReceipt(nobody), RunNotFoundError);
    assert.equal((await other.callAt(1, 1)).status, "in_doubt");
  }),

  check(
    "a late receipt cannot make a dispatched call cancelled or a duplicate",
    async ({ store, advance }) => {
      const { early } = await lost(store, advance);
      for (const status of ["cancelled", "deduplicated"] as const)
        await assertRefused(store, early.runId, () =>
          store.offerLateReceipt(early.late(1, 1, newReceipt(1, { status }))),
        );
    },
  ),

  check(
    "the blob of a late receipt is stored, whether it settles the call or not",
    async ({ store, advance }) => {
      const { early, later } = await lost(store, advance);
      await store.offerLateReceipt(early.late(1, 1, blobReceipt(1, BYTES)));
      assert.equal((await early.callAt(1, 1)).receipt?.blob?.blobId, BLOB_ID);
      assert.equal((await store.readBlob(early.runId, BLOB_ID))?.byteLength, BYTES.byteLength);
      await store.commitTurn(later.fence, later.commit(1));
      await later.journaled(2, ["running"]);
      await later.endAttempt(2, 1, { inDoubt: true });
      await later.receipt(2, 1);
      const evidence = Buffer.alloc(20_000, "evidence");
      assert.equal(await store.offerLateReceipt(later.late(2, 1, blobReceipt(1, evidence))), "kept");
      const { blobId } = blobReferenceOf(evidence);
      assert.equal((await store.readBlob(early.runId, blobId))?.byteLength, evidence.byteLength);
      const refused = Buffer.alloc(10_000, "refused");
      await assertRefused(store, early.runId, () =>
        store.offerLateReceipt(later.late(2, 1, blobReceipt(1, refused))),
      );
      assert.equal(await store.readBlob(early.runId, blobReferenceOf(refused).blobId), null);
    },
  ),

  checkSeveral(
    "a late receipt from another process settles the call, and the worker continues",
    async ({ store, openAnother, fallSilent }) => {
      const early = await SampleRun.create(store);
      await early.journaled(1, ["running", "running"]);
      const other = await openAnother();
      await fallSilent(LEASE_MS);
      const later = await early.takenOver(other);
      await later.start(1, 2);
      await store.offerLateReceipt(early.late(1, 1, newReceipt(1)));
      await other.commitTurn(later.fence, later.commit(1, { receipts: [newReceipt(2)] }));
      assert.deepEqual(
        (await other.listToolCalls(early.runId)).map(({ receipt }) => receipt?.source),
        ["late", "tool"],
      );
    },
  ),
];
