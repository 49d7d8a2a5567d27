import assert from "node:assert/strict";
import type { Amount } from "../../../core/usage/usage.ts";
import type { Charge } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { CHARGE, FAILED, LEASE_MS, limited, RESERVE, SampleRun } from "../sample-run.ts";

const NOTHING: Amount = { tokens: 0, microDollars: 0 };
const BASELINE: Charge = {
  basis: "baseline",
  amount: RESERVE,
  usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
};

/** Budgets and reservations when another worker claims the run. */
export const claimQuotaChecks: readonly Check[] = [
  check("a new owner charges open calls in full, once", async ({ store, now, advance }) => {
    const run = await SampleRun.create(store, "run-1", limited(250));
    await run.open(1);
    const polish = await run.at("polish");
    await polish.open(1, { reserve: { tokens: 20, microDollars: 2 } });
    const openedAt = now();
    advance(LEASE_MS);
    const outcome = await store.claimRun(run.runId, { leaseMs: LEASE_MS, from: ["running"] });
    assert.ok(outcome.kind === "claimed");
    const lost = { turnIndex: 1, attempt: 1, openedAt, settledAt: now() };
    const small = { tokens: 20, microDollars: 2 };
    assert.deepEqual(
      [...outcome.chargedAsLost].sort((a, b) => a.stepPath.localeCompare(b.stepPath)),
      [
        { ...lost, stepPath: "draft", reserved: RESERVE, charge: BASELINE },
        { ...lost, stepPath: "polish", reserved: small, charge: { ...BASELINE, amount: small } },
      ],
    );
    assert.deepEqual(await store.listModelCalls(run.runId), outcome.chargedAsLost);
    const charged = { tokens: 120, microDollars: 1_002 };
    assert.deepEqual([outcome.claim.run.charged, outcome.claim.run.reserved], [charged, NOTHING]);

    advance(LEASE_MS);
    const again = await store.claimRun(run.runId, { leaseMs: LEASE_MS, from: ["running"] });
    assert.ok(again.kind === "claimed");
    assert.deepEqual(again.chargedAsLost, []);
    assert.deepEqual(again.claim.run.charged, charged);
    assert.deepEqual(await store.listModelCalls(run.runId), outcome.chargedAsLost);
  }),

  check(
    "a new owner charges a reservation made in a commit, and leaves journaled turns alone",
    async ({ store, advance }) => {
      const run = await SampleRun.create(store);
      await run.open(1);
      await store.commitTurn(run.fence, run.commit(1, { journal: run.journal(1), next: run.opening(2) }));
      const polish = await run.at("polish");
      await polish.journaled(1, ["running"]);
      advance(LEASE_MS);
      const outcome = await store.claimRun(run.runId, { leaseMs: LEASE_MS, from: ["running"] });
      assert.ok(outcome.kind === "claimed");
      assert.deepEqual(
        outcome.chargedAsLost.map(({ stepPath, turnIndex }) => [stepPath, turnIndex]),
        [["draft", 2]],
      );
      assert.deepEqual((await run.record()).charged, { tokens: 160, microDollars: 1_600 });
    },
  ),

  check("a turn whose attempt was lost opens again, as the next attempt", async ({ store, advance }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    advance(LEASE_MS);
    const later = await run.takenOver();
    assert.deepEqual(await later.open(1), { kind: "opened", attempt: 2, reserved: RESERVE });
    await store.journalResponse(later.fence, later.journal(1, [], { attempt: 2 }));
    assert.deepEqual((await run.record()).charged, { tokens: 130, microDollars: 1_300 });
  }),

  check("a released run is charged nothing", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    await store.releaseRun(run.fence, FAILED);
    const outcome = await store.claimRun(run.runId, { leaseMs: LEASE_MS, from: ["failed"] });
    assert.ok(outcome.kind === "claimed");
    assert.deepEqual(outcome.chargedAsLost, []);
    assert.deepEqual(outcome.claim.run.charged, NOTHING);
  }),

  check("a budget holds across claims", async ({ store, advance }) => {
    let run = await SampleRun.create(store, "run-1", limited(250));
    for (let i = 0; i < 2; i++) {
      await run.open(1);
      advance(LEASE_MS);
      run = await run.takenOver();
      assert.deepEqual((await run.record()).limit, limited(250).limit);
    }
    assert.deepEqual(await run.open(1), { kind: "denied", unit: "tokens", wanted: 100, remaining: 50 });
  }),

  check("a claim can bring another budget; charges stay charged", async ({ store, advance }) => {
    const run = await SampleRun.create(store, "run-1", limited(100));
    await run.committed(1);
    assert.equal((await run.open(2)).kind, "denied");
    advance(LEASE_MS);
    const richer = await run.takenOver(store, limited(130, 7_000));
    const { limit, charged } = await richer.record();
    assert.deepEqual([limit, charged], [limited(130, 7_000).limit, CHARGE.amount]);
    assert.equal((await richer.open(2)).kind, "opened");
    await store.releaseRun(richer.fence, FAILED);
    const poorer = await richer.takenOver(store, limited(10));
    assert.deepEqual(await poorer.open(2), { kind: "denied", unit: "tokens", wanted: 100, remaining: 0 });
    await store.releaseRun(poorer.fence, FAILED);
    const free = await poorer.takenOver(store, limited(null));
    assert.equal(
      (await free.open(2, { reserve: { tokens: 10 ** 9, microDollars: 10 ** 9 } })).kind,
      "opened",
    );
  }),
];
