import assert from "node:assert/strict";
import { ConfigurationError, LeaseLostError, RunBusyError, RunMovedError } from "../../../core/errors.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { readEverything } from "../everything.ts";
import { newFork } from "../sample-fork.ts";
import { assertIntact, content, ELSEWHERE, waitingRun, withAnotherDatabase } from "../sample-move.ts";
import { claimOptions, LEASE_MS, newReceipt, RESERVE, SampleRun, SUCCEEDED } from "../sample-run.ts";

const DAY_MS = 86_400_000;

export const leavingChecks: readonly Check[] = [
  checkSeveral("a database has one id for all of its stores, and no other has it", async (scene) => {
    const { store, openAnother } = scene;
    const storeId = await store.storeId();
    assert.match(storeId, /^[0-9a-f]{32}$/);
    assert.equal(await (await openAnother()).storeId(), storeId);
    await withAnotherDatabase(scene, async (elsewhere) => {
      assert.notEqual(await elsewhere.storeId(), storeId);
    });
  }),

  check("a run is marked as moved, with where it went and the status that it had", async ({ store }) => {
    const run = await waitingRun(store);
    const before = await content(store, run.runId);
    const move = await store.moveRun(run.runId, ELSEWHERE);
    assert.deepEqual(move, { from: await store.storeId(), to: ELSEWHERE, status: "waiting" });
    const record = await run.record();
    assert.deepEqual([record.status, record.moved, record.owner], ["moved", move, null]);
    const event = await run.lastEvent();
    assert.deepEqual([event.type, event.data], ["run.moved", { ...move, chargedAsLost: [] }]);
    assert.deepEqual(await content(store, run.runId), before, "it can still be read");
    await assertIntact(store, run.runId);
  }),

  check(
    "moving it to the same store again changes nothing, and to another one is refused",
    async ({ store }) => {
      const run = await waitingRun(store);
      const move = await store.moveRun(run.runId, ELSEWHERE);
      const before = await readEverything(store, run.runId);
      assert.deepEqual(await store.moveRun(run.runId, ELSEWHERE), move);
      assert.deepEqual(await readEverything(store, run.runId), before);
      const error = await assertRefused(
        store,
        run.runId,
        () => store.moveRun(run.runId, "e".repeat(32)),
        RunMovedError,
      );
      assert.ok(RunMovedError.isInstance(error) && error.message.includes(ELSEWHERE));
    },
  ),

  check("a run is not moved to the store that it is in", async ({ store }) => {
    const run = await waitingRun(store);
    const own = await store.storeId();
    await assertRefused(store, run.runId, () => store.moveRun(run.runId, own), ConfigurationError);
  }),

  check(
    "everything that would continue a moved run is refused, and says where it went",
    async ({ store }) => {
      const run = await waitingRun(store);
      await store.moveRun(run.runId, ELSEWHERE);
      const [waitId, callId] = [`${run.runId}~1`, run.callId(2, 1)];
      const attempts: readonly (() => Promise<unknown>)[] = [
        () => store.claimRun(run.runId, claimOptions({ from: [...claimOptions().from, "moved"] })),
        () => store.requestCancel(run.runId),
        () => store.approve(waitId),
        () => store.deny(waitId, "No."),
        () => store.answer(waitId, 1),
        () => store.settle(callId, { as: "retry" }),
        () => store.forkRun(newFork(run, 1)),
        () => store.offerLateReceipt(run.late(2, 1, newReceipt(1))),
        () => store.sendMessage(run.runId, { id: "m-1", event: "paid", body: null }),
        () => store.withdrawMessage(run.runId, "m-1"),
      ];
      for (const attempt of attempts) {
        const error = await assertRefused(store, run.runId, attempt, RunMovedError);
        assert.ok(RunMovedError.isInstance(error));
        assert.deepEqual(error.details, { runId: run.runId, to: ELSEWHERE });
      }
      assert.equal(await store.getRun("fork"), null);
      await assertRefused(store, run.runId, () => run.open(3), LeaseLostError);
    },
  ),

  check(
    "the questions of a moved run are not asked here, and its blobs are kept",
    async ({ store, advance }) => {
      const run = await waitingRun(store);
      assert.equal((await store.listOpenWaits()).length, 1);
      await store.moveRun(run.runId, ELSEWHERE);
      assert.deepEqual(await store.listOpenWaits(), []);
      advance(90 * DAY_MS);
      assert.deepEqual(await store.collectBlobs({ olderThanMs: 0, maxBytes: 0 }), { blobs: 0, bytes: 0 });
      await assertIntact(store, run.runId);
    },
  ),

  check(
    "a run of the same input that was moved away is found with those that have not ended",
    async ({ store }) => {
      const run = await waitingRun(store);
      await store.moveRun(run.runId, ELSEWHERE);
      const newer = await SampleRun.create(store, "newer");
      await store.releaseRun(newer.fence, SUCCEEDED);
      const { pipeline, inputHash } = await run.record();
      const found = await store.findRunsOf(pipeline, inputHash);
      assert.deepEqual(new Set(found.map((each) => each.run.runId)), new Set(["newer", run.runId]));
    },
  ),

  check("a run that is being worked on is not moved", async ({ store }) => {
    const run = await SampleRun.create(store);
    store.attend(run.fence);
    await assertRefused(store, run.runId, () => store.moveRun(run.runId, ELSEWHERE), RunBusyError);
  }),

  checkSeveral("what a dead worker left open is settled before the run is moved", async (scene) => {
    const { store, openAnother, fallSilent } = scene;
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    const other = await run.at("other");
    await other.open(1);
    const next = await openAnother();
    await assertRefused(next, run.runId, () => next.moveRun(run.runId, ELSEWHERE), RunBusyError);
    await fallSilent(LEASE_MS);
    await next.moveRun(run.runId, ELSEWHERE);
    assert.equal((await run.callAt(1, 1)).status, "in_doubt");
    const { charged, reserved, epoch } = await run.record();
    assert.deepEqual(reserved, { tokens: 0, microDollars: 0 });
    assert.ok(charged.tokens >= RESERVE.tokens, "the request may have been answered");
    assert.deepEqual([epoch, (await store.listAttempts(run.runId)).at(-1)?.endStatus], [2, "interrupted"]);
    await assertRefused(store, run.runId, () => run.receipt(1, 1), LeaseLostError);
    await assertIntact(next, run.runId);
  }),
];
