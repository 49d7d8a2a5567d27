import assert from "node:assert/strict";
import { LeaseLostError, StoreUnavailableError } from "../../../core/errors.ts";
import { assertRefused, type Check, check, checkSeveral } from "../check.ts";
import { readEverything } from "../everything.ts";
import { claimOptions, FAILED, LEASE_MS, newRun, SampleRun, SUCCEEDED } from "../sample-run.ts";

const effectOf = ({ stepKey }: SampleRun, attempt: number) => ({
  stepKey,
  turnIndex: 1,
  callIndex: 0,
  attempt,
});

export const leaseChecks: readonly Check[] = [
  check("a held run is busy, and reports its owner and the end of its lease", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    const { owner } = await run.record();
    const before = await readEverything(store, run.runId);
    assert.deepEqual(await store.claimRun(run.runId, claimOptions()), {
      kind: "busy",
      owner,
      until: now() + LEASE_MS,
    });
    assert.deepEqual(await readEverything(store, run.runId), before, "a busy claim changes nothing");
  }),

  checkSeveral("an epoch counts only for the store that claimed the run", async (scene) => {
    const run = await SampleRun.create(scene.store);
    const other = await scene.openAnother();
    // A database that was restored may have given out the same epoch to both.
    await assertRefused(other, run.runId, () => other.openTurn(run.fence, run.opening(1)), LeaseLostError);
    await assertRefused(other, run.runId, () => other.releaseRun(run.fence, FAILED), LeaseLostError);
    assert.equal((await run.open(1)).kind, "opened");
  }),

  checkSeveral(
    "a run held by a living process is busy for another, and its owners have different names",
    async (scene) => {
      const run = await SampleRun.create(scene.store);
      const other = await scene.openAnother();
      const outcome = await other.claimRun(run.runId, claimOptions());
      assert.deepEqual(
        [outcome.kind, outcome.kind === "busy" && outcome.owner],
        ["busy", (await run.record()).owner],
      );
      await scene.fallSilent(LEASE_MS);
      const taken = await run.takenOver(other);
      assert.notEqual((await taken.record()).owner, outcome.kind === "busy" && outcome.owner);
    },
  ),

  check("a lease expires at its end, not before", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    advance(LEASE_MS - 1);
    assert.equal((await store.claimRun(run.runId, claimOptions())).kind, "busy");
    advance(1);
    const outcome = await store.claimRun(run.runId, claimOptions({ leaseMs: 77 }));
    assert.ok(outcome.kind === "claimed");
    assert.equal(outcome.claim.epoch, 2);
    assert.equal(outcome.claim.run.leaseUntil, now() + 77);
    assert.deepEqual(outcome.claim.run, await store.getRun(run.runId));
  }),

  check("a renewal moves the end of the lease", async ({ store, advance, now }) => {
    const run = await SampleRun.create(store);
    advance(LEASE_MS - 1);
    await store.renewLease(run.fence, LEASE_MS);
    assert.equal((await run.record()).leaseUntil, now() + LEASE_MS);
    advance(LEASE_MS - 1);
    assert.equal((await store.claimRun(run.runId, claimOptions())).kind, "busy");
    advance(1);
    assert.equal((await store.claimRun(run.runId, claimOptions())).kind, "claimed");
  }),

  check("an expired lease can be renewed if no one else has claimed the run", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    advance(2 * LEASE_MS);
    await store.renewLease(run.fence, LEASE_MS);
    assert.equal((await store.claimRun(run.runId, claimOptions())).kind, "busy");
  }),

  check("a released run can be claimed at once", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, FAILED);
    assert.equal((await run.takenOver()).fence.epoch, 2);
  }),

  check("the epoch rises with every claim", async ({ store, advance }) => {
    let run = await SampleRun.create(store);
    for (const epoch of [2, 3, 4]) {
      advance(LEASE_MS);
      run = await run.takenOver();
      assert.equal(run.fence.epoch, epoch);
      assert.equal((await run.record()).epoch, epoch);
    }
  }),

  check("a claim is refused, with the run's record, if the run has another status", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, SUCCEEDED);
    const before = await readEverything(store, run.runId);
    const outcome = await store.claimRun(run.runId, claimOptions({ from: ["running", "failed"] }));
    assert.deepEqual(outcome, { kind: "refused", run: await store.getRun(run.runId) });
    assert.deepEqual(await readEverything(store, run.runId), before, "a refused claim changes nothing");
  }),

  check("one of many claims in one tick wins", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    advance(LEASE_MS);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => store.claimRun(run.runId, claimOptions())),
    );
    assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), [...Array<string>(7).fill("busy"), "claimed"]);
    assert.equal((await run.record()).epoch, 2);
  }),

  checkSeveral("one of several processes that claim a run at once wins", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    for (let i = 0; i < 10; i++) {
      const run = await SampleRun.create(scene.store, `run-${i}`);
      await scene.fallSilent(LEASE_MS);
      const outcomes = await Promise.all(stores.map((store) => store.claimRun(run.runId, claimOptions())));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["busy", "busy", "claimed"]);
      assert.equal((await run.record()).epoch, 2);
    }
  }),

  checkSeveral("one of several processes that create the same run at once wins", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    for (let i = 0; i < 10; i++) {
      const outcomes = await Promise.all(stores.map((store) => store.createRun(newRun(`run-${i}`))));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["created", "exists", "exists"]);
    }
    assert.equal((await scene.store.listRuns()).length, 10);
  }),

  check("a store does not claim its own run again while one of its effects is in progress", async (scene) => {
    const { store, advance } = scene;
    const run = await SampleRun.create(store);
    store.attend(run.fence);
    const effect = await store.beginEffect(run.fence, effectOf(run, 1));
    advance(2 * LEASE_MS);
    assert.equal((await store.claimRun(run.runId, claimOptions())).kind, "busy");
    effect.end();
    assert.equal((await store.claimRun(run.runId, claimOptions())).kind, "claimed");
  }),

  check("a store can claim a run again at once after its worker has left", async ({ store }) => {
    const run = await SampleRun.create(store);
    const attendance = store.attend(run.fence);
    assert.equal((await store.claimRun(run.runId, claimOptions())).kind, "busy");
    attendance.leave();
    assert.equal((await run.takenOver()).fence.epoch, 2);
  }),

  check(
    "calls that its own worker has not begun are charged nothing, and begun ones are charged",
    async ({ store }) => {
      for (const begins of [false, true]) {
        const run = await SampleRun.create(store, `run-${begins}`);
        const attendance = store.attend(run.fence);
        await run.open(1);
        const effect = begins ? await store.beginEffect(run.fence, effectOf(run, 1)) : null;
        effect?.end();
        attendance.leave();
        const outcome = await store.claimRun(run.runId, claimOptions());
        assert.equal(outcome.kind === "claimed" && outcome.chargedAsLost.length, begins ? 1 : 0);
      }
    },
  ),

  checkSeveral("closing a store releases its runs, which can be claimed at once", async (scene) => {
    const leaving = await scene.openAnother();
    const run = await SampleRun.create(leaving);
    assert.equal((await scene.store.claimRun(run.runId, claimOptions())).kind, "busy");
    await leaving.close();
    const taken = await run.takenOver(scene.store, { from: ["running"] });
    assert.equal(taken.fence.epoch, 2);
  }),

  checkSeveral(
    "no effect begins once a store is closing, and those in progress are awaited",
    async (scene) => {
      const leaving = await scene.openAnother();
      const run = await SampleRun.create(leaving);
      const attendance = leaving.attend(run.fence);
      await run.open(1);
      const effect = await leaving.beginEffect(run.fence, effectOf(run, 1));
      let isClosed = false;
      const closing = leaving.close().then(() => {
        isClosed = true;
      });
      assert.equal(attendance.closing.aborted, true);
      await assert.rejects(leaving.beginEffect(run.fence, effectOf(run, 2)), StoreUnavailableError);
      await assert.rejects(leaving.createRun(newRun("late")), StoreUnavailableError);
      assert.equal(isClosed, false, "it waits for the effect");
      await leaving.journalResponse(run.fence, run.journal(1));
      effect.end();
      attendance.leave();
      await closing;
      assert.equal((await scene.store.listModelCalls(run.runId))[0]?.charge?.basis, "provider");
    },
  ),

  checkSeveral("other processes read what one process commits", async (scene) => {
    const run = await SampleRun.create(scene.store);
    const other = await scene.openAnother();
    for (let turn = 1; turn <= 3; turn++) {
      await run.committed(turn);
      assert.deepEqual(await readEverything(other, run.runId), await readEverything(scene.store, run.runId));
      assert.equal((await other.readConversation(run.runId, run.stepKey, 1_000)).turnIndex, turn);
    }
  }),
];
