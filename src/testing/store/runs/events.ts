import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { EventRecord } from "../../../store/store.ts";
import { assertRefused, type Check, check, rejection } from "../check.ts";
import { claimOptions, FAILED, intentFacts, LEASE_MS, SampleRun } from "../sample-run.ts";
import { jobScenario, turnScenario } from "../store-scenarios.ts";

/** Recomputes the chain: each hash covers the one before it and the whole event. */
export function assertChained(events: readonly EventRecord[]): void {
  let previous: Uint8Array = new Uint8Array(32);
  for (const [i, { seq, at, type, data, hash }] of events.entries()) {
    assert.equal(seq, i + 1, "events are numbered from 1 without a gap");
    const said = Buffer.from(`${seq}\n${at}\n${type}\n${JSON.stringify(data)}`, "utf8");
    const expected = createHash("sha256").update(previous).update(said).digest();
    assert.equal(hash, expected.toString("hex"), `event ${seq} (${type}) is chained to the one before it`);
    previous = expected;
  }
}

export const eventChecks: readonly Check[] = [
  check(
    "each intent appends one event, without a gap, chained to the one before it",
    async ({ store, advance }) => {
      const expected = await turnScenario(store, advance);
      const events = await store.listEvents("run-1");
      assert.deepEqual(
        events.map(({ type }) => type),
        expected,
      );
      assertChained(events);
    },
  ),

  check(
    "each intent of a job appends one event, without a gap, chained to the one before it",
    async ({ store, advance }) => {
      const expected = await jobScenario(store, advance);
      const events = await store.listEvents("job");
      assert.deepEqual(
        events.map(({ type }) => type),
        expected,
      );
      assertChained(events);
      const fork = await store.listEvents("job-fork");
      assert.deepEqual(
        fork.map(({ type }) => type),
        ["run.forked", "run.claimed", "step.resumed", "turn.opened", "turn.committed", "artifact.kept"],
      );
      assertChained(fork);
    },
  ),

  check("an event carries the time of its intent", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store);
    advance(1_234);
    await run.open(1);
    const events = await store.listEvents(run.runId);
    assert.deepEqual(
      events.map(({ at }) => at),
      [now() - 1_234, now() - 1_234, now()],
    );
    assert.equal((await run.record()).updatedAt, now());
  }),

  check("a refused intent leaves no event and no gap", async ({ store }) => {
    const run = await SampleRun.create(store);
    await assertRefused(store, run.runId, () => run.open(2));
    await run.open(1);
    await Promise.allSettled([run.open(2), store.journalResponse(run.fence, run.journal(1)), run.open(7)]);
    await rejection(store.commitTurn(run.fence, run.commit(2)));
    const events = await store.listEvents(run.runId);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["run.created", "step.begun", "turn.opened", "turn.journaled"],
    );
    assertChained(events);
  }),

  check(
    "an intent that changes nothing leaves no event: a busy or refused claim, a taken id",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await store.claimRun(run.runId, claimOptions());
      await store.createRun({
        runId: run.runId,
        pipeline: "",
        entrypoint: "",
        input: null,
        inputHash: new Uint8Array(32),
        shape: null,
        limit: { tokens: null, microDollars: null },
        leaseMs: 1,
      });
      await store.releaseRun(run.fence, FAILED);
      await store.claimRun(run.runId, claimOptions({ from: ["queued"] }));
      assert.deepEqual(
        (await store.listEvents(run.runId)).map(({ type }) => type),
        ["run.created", "step.begun", "run.failed"],
      );
    },
  ),

  check("each run has a log of its own", async ({ store }) => {
    const [a, b] = [await SampleRun.create(store, "a"), await SampleRun.create(store, "b")];
    for (let turn = 1; turn <= 3; turn++) await Promise.all([a.committed(turn), b.committed(turn)]);
    for (const runId of ["a", "b"]) {
      const events = await store.listEvents(runId);
      assert.equal(events.length, 8);
      assertChained(events);
    }
    const [first, other] = [await store.listEvents("a"), await store.listEvents("b")];
    assert.ok(first[1] !== undefined && other[1] !== undefined);
    assert.deepEqual(intentFacts(first[1]), intentFacts(other[1]));
  }),

  check("events can be read from any point on, up to a limit", async ({ store, advance }) => {
    const expected = await turnScenario(store, advance);
    const all = await store.listEvents("run-1");
    assert.deepEqual(await store.listEvents("run-1", { after: 3 }), all.slice(3));
    assert.deepEqual(await store.listEvents("run-1", { limit: 2 }), all.slice(0, 2));
    assert.deepEqual(await store.listEvents("run-1", { after: 4, limit: 3 }), all.slice(4, 7));
    assert.deepEqual(await store.listEvents("run-1", { after: expected.length }), []);
  }),

  check("the log records what a new owner charged as lost", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    advance(LEASE_MS);
    await run.takenOver();
    const claimed = (await store.listEvents(run.runId)).at(-1);
    assert.equal(claimed?.type, "run.claimed");
    assert.match(JSON.stringify(claimed?.data), /"chargedAsLost":\[\{.*"tokens":100/);
  }),
];
