import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { AlreadySettledError, LeaseLostError } from "../../../core/errors.ts";
import type { Store } from "../../../store/store.ts";
import { type Check, checkThreads } from "../check.ts";
import { claimOptions, LEASE_MS, newRun, SampleRun, sha256 } from "../sample-run.ts";

// Stores that really work at the same time: in one thread, two transactions never overlap on SQLite.

const RACES = 5;
const SHORT_LEASE_MS = 20;
const HOUR_MS = 3_600_000;

export const threadChecks: readonly Check[] = [
  checkThreads("one of two that create a run at once does", async (scene) => {
    const stores = await Promise.all([scene.openOnThread(), scene.openOnThread()]);
    for (let i = 0; i < RACES; i++) {
      const outcomes = await Promise.all(stores.map((store) => store.createRun(newRun(`run-${i}`))));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["created", "exists"]);
      assert.equal((await scene.store.listEvents(`run-${i}`)).length, 1);
    }
  }),

  checkThreads(
    "one of two that claim a run at once gets it, every write of it happens once, and the other is fenced off",
    async (scene) => {
      const stores = await Promise.all([scene.openOnThread(), scene.openOnThread()]);
      for (let i = 0; i < RACES; i++) {
        const run = await SampleRun.create(scene.store, `run-${i}`);
        await scene.store.interruptRun(run.fence);
        const claims = await Promise.all(stores.map((store) => store.claimRun(run.runId, claimOptions())));
        assert.deepEqual(claims.map(({ kind }) => kind).sort(), ["busy", "claimed"]);
        // The loser uses the epoch of the winner, as after a failover that gave it out twice.
        const writers = stores.map((store) => new SampleRun(store, { ...run.fence, epoch: 2 }, run.step));
        const works = await Promise.allSettled(writers.map((writer) => commitTurns(writer, 4)));
        for (const [n, work] of works.entries())
          if (claims[n]?.kind === "claimed") assert.equal(work.status, "fulfilled");
          else assert.ok(work.status === "rejected" && LeaseLostError.isInstance(work.reason));
        const turns = await scene.store.listTurns(run.runId);
        assert.deepEqual(
          turns.map(({ turnIndex, committed }) => [turnIndex, committed]),
          [1, 2, 3, 4].map((turn) => [turn, true]),
        );
        const events = await scene.store.listEvents(run.runId);
        assert.equal(events.filter(({ type }) => type === "turn.committed").length, 4);
        assert.equal((await run.record()).charged.tokens, 4 * 30);
      }
    },
  ),

  checkThreads("a run that is taken from a writing owner has every accepted write once", async (scene) => {
    const { store, openOnThread } = scene;
    const stores = [await openOnThread(), await openOnThread()] as const;
    const created = await SampleRun.create(store);
    await store.interruptRun(created.fence);
    let holder = await created.takenOver(stores[0], { leaseMs: SHORT_LEASE_MS });
    const accepted: string[] = [];
    for (let round = 0; round < RACES; round++) {
      const next = stores[(round + 1) % 2] ?? stores[0];
      // It never renews its lease, and knows the run from its own memory only.
      const writing = keepUntilRefused(holder, accepted);
      holder = await claimWhenFree(holder, next);
      await writing;
    }
    const kept = (await store.listArtifacts(created.runId)).map(({ name }) => name);
    assert.ok(accepted.length >= RACES, "each of them wrote something");
    assert.deepEqual(kept, accepted.sort());
    const events = await store.listEvents(created.runId);
    assert.equal(events.filter(({ type }) => type === "artifact.kept").length, accepted.length);
  }),

  checkThreads("a worker and a person who change a run at once both do", async (scene) => {
    const [worker, person] = [await scene.openOnThread(), await scene.openOnThread()];
    for (let i = 0; i < RACES; i++) {
      const run = await SampleRun.create(worker, `run-${i}`);
      const names = Array.from({ length: 20 }, (_, n) => `${100 + n}`);
      const keep = async (name: string) =>
        worker.keepArtifact(run.fence, { stepKey: run.stepKey, name, bytes: Buffer.from(name) });
      const keepAll = async () => {
        for (const name of names) await keep(name);
      };
      const cancel = () => person.requestCancel(run.runId, { by: "Ann" });
      const [, outcome] = await Promise.all([keepAll(), sleep(i).then(cancel)]);
      assert.equal(outcome.kind, "requested");
      assert.equal(await scene.store.isCancelRequested(run.runId), true);
      assert.deepEqual(
        (await scene.store.listArtifacts(run.runId)).map(({ name }) => name),
        names,
      );
    }
  }),

  checkThreads("one of two people who answer a question at once does", async (scene) => {
    const stores = await Promise.all([scene.openOnThread(), scene.openOnThread()]);
    for (let i = 0; i < RACES; i++) {
      const run = await SampleRun.create(scene.store, `run-${i}`);
      await run.journaled(1, ["prepared"]);
      await run.waiting(run.approval(1, 1, sha256("arguments").toString("hex")));
      const [approval, denial] = await Promise.allSettled([
        stores[0]?.approve(`run-${i}~1`, { by: "Ann" }),
        stores[1]?.deny(`run-${i}~1`, "No.", { by: "Bob" }),
      ]);
      const refused = [approval, denial].filter((each) => each?.status === "rejected");
      assert.equal(refused.length, 1);
      assert.ok(refused.every((each) => AlreadySettledError.isInstance(each.reason)));
      const [wait] = await run.waits();
      assert.equal(wait?.answeredBy, approval?.status === "fulfilled" ? "Ann" : "Bob");
    }
  }),

  checkThreads(
    "a clock that is an hour off neither takes nor loses the lease of a living owner",
    async (scene) => {
      const own = await SampleRun.create(scene.store, "own");
      for (const off of [HOUR_MS, -HOUR_MS]) {
        const store = await scene.openOnThread(off);
        assert.equal(await store.isHeld(own.runId), true);
        assert.equal((await store.claimRun(own.runId, claimOptions())).kind, "busy");
        const run = await SampleRun.create(store, `off-${off}`);
        for (const _ of ["new", "renewed"]) {
          assert.equal(await scene.store.isHeld(run.runId), true);
          assert.equal((await scene.store.claimRun(run.runId, claimOptions())).kind, "busy");
          await store.renewLease(run.fence, LEASE_MS);
        }
        await run.committed(1);
      }
      await own.committed(1);
    },
  ),

  checkThreads("a lease is measured by the clock that the store says it is measured by", async (scene) => {
    const here = await SampleRun.create(scene.store, "here");
    const store = await scene.openOnThread(HOUR_MS);
    const there = await SampleRun.create(store, "there");
    const expected = scene.clock === "server" ? 0 : HOUR_MS;
    for (const _ of ["new", "renewed"]) {
      const [a, b] = [await here.record(), await there.record()];
      const off = (b.leaseUntil ?? 0) - (a.leaseUntil ?? 0) - expected;
      assert.ok(Math.abs(off) < HOUR_MS / 2, `the lease is off by ${off} ms`);
      await Promise.all([here, there].map((run) => run.store.renewLease(run.fence, LEASE_MS)));
    }
  }),
];

async function commitTurns(run: SampleRun, turns: number): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) await run.committed(turn);
}

/** Stores artifacts until the run is no longer its own, and notes each that was accepted. */
async function keepUntilRefused(run: SampleRun, accepted: string[]): Promise<void> {
  for (let n = 100; ; n++) {
    const name = `${run.fence.epoch}-${n}`;
    try {
      const { stepKey } = run;
      await run.store.keepArtifact(run.fence, { stepKey, name, bytes: Buffer.from(name) });
      accepted.push(name);
    } catch (error) {
      assert.ok(LeaseLostError.isInstance(error), String(error));
      return;
    }
  }
}

async function claimWhenFree(run: SampleRun, store: Store): Promise<SampleRun> {
  for (;;) {
    const outcome = await store.claimRun(run.runId, claimOptions({ leaseMs: SHORT_LEASE_MS }));
    if (outcome.kind === "claimed")
      return new SampleRun(store, { ...run.fence, epoch: outcome.claim.epoch }, run.step);
    assert.equal(outcome.kind, "busy");
  }
}
