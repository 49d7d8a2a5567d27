import assert from "node:assert/strict";
import { type Check, check, checkSeveral } from "./check.ts";
import { readEverything } from "./everything.ts";
import { claimOptions, FAILED, LEASE_MS, newRun, SampleRun, SUCCEEDED } from "./sample-run.ts";

export const leaseChecks: readonly Check[] = [
  check("a held run is busy, and says by whom and until when", async ({ store, now }) => {
    const run = await SampleRun.create(store);
    const { owner } = await run.record();
    const before = await readEverything(store, run.runId);
    assert.deepEqual(await store.claimRun(run.runId, claimOptions()), {
      kind: "busy",
      owner,
      until: now() + LEASE_MS,
    });
    assert.deepEqual(await readEverything(store, run.runId), before, "asking changes nothing");
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

  check("a lease ends at its end, not before", async ({ store, now, advance }) => {
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

  check("a lease that ran out and was taken by nobody can be renewed", async ({ store, advance }) => {
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

  check("a run in another status than asked for is refused, with what it is", async ({ store }) => {
    const run = await SampleRun.create(store);
    await store.releaseRun(run.fence, SUCCEEDED);
    const before = await readEverything(store, run.runId);
    const outcome = await store.claimRun(run.runId, claimOptions({ from: ["running", "failed"] }));
    assert.deepEqual(outcome, { kind: "refused", run: await store.getRun(run.runId) });
    assert.deepEqual(await readEverything(store, run.runId), before, "a refused claim changes nothing");
  }),

  check("of many claims in one tick one wins", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    advance(LEASE_MS);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => store.claimRun(run.runId, claimOptions())),
    );
    assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), [...Array<string>(7).fill("busy"), "claimed"]);
    assert.equal((await run.record()).epoch, 2);
  }),

  checkSeveral("of several processes that claim a run at once one wins", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    for (let i = 0; i < 10; i++) {
      const run = await SampleRun.create(scene.store, `run-${i}`);
      await scene.fallSilent(LEASE_MS);
      const outcomes = await Promise.all(stores.map((store) => store.claimRun(run.runId, claimOptions())));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["busy", "busy", "claimed"]);
      assert.equal((await run.record()).epoch, 2);
    }
  }),

  checkSeveral("of several processes that create the same run at once one does", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    for (let i = 0; i < 10; i++) {
      const outcomes = await Promise.all(stores.map((store) => store.createRun(newRun(`run-${i}`))));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["created", "exists", "exists"]);
    }
    assert.equal((await scene.store.listRuns()).length, 10);
  }),

  checkSeveral("what one process commits the others read", async (scene) => {
    const run = await SampleRun.create(scene.store);
    const other = await scene.openAnother();
    for (let turn = 1; turn <= 3; turn++) {
      await run.committed(turn);
      assert.deepEqual(await readEverything(other, run.runId), await readEverything(scene.store, run.runId));
      assert.equal((await other.readConversation(run.stepKey, 1_000)).turnIndex, turn);
    }
  }),
];
