import assert from "node:assert/strict";
import type { SpendBucket, SpendQuery, Store } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { newSpec } from "../sample-contract.ts";
import { newFork } from "../sample-fork.ts";
import { CHARGE, FAILED, LEASE_MS, limited, RESERVE, SampleRun, SUCCEEDED } from "../sample-run.ts";
import { milestone, sessionCommit, startLineage } from "../sample-session.ts";

const NONE = { requests: 0, charged: { tokens: 0, microDollars: 0 } };
const times = ({ tokens, microDollars }: typeof RESERVE, n: number) => ({
  tokens: tokens * n,
  microDollars: microDollars * n,
});

/** So many answered turns, and calls that were charged their reservation. */
function bucket(
  at: number,
  answered: number,
  unanswered: number,
  over: Partial<SpendBucket> = {},
): SpendBucket {
  return {
    at,
    pipeline: null,
    charges: {
      provider: answered === 0 ? NONE : { requests: answered, charged: times(CHARGE.amount, answered) },
      baseline: unanswered === 0 ? NONE : { requests: unanswered, charged: times(RESERVE, unanswered) },
      none: NONE,
    },
    lost: times(RESERVE, unanswered),
    ...over,
  };
}

async function spend(store: Store, since: number, over: Partial<SpendQuery> = {}) {
  return store.readSpend({ since, until: since + 1_000_000, bucketMs: 100_000, by: null, ...over });
}

export const spendChecks: readonly Check[] = [
  check("what model calls cost is added up by time, basis and pipeline", async ({ store, now, advance }) => {
    const start = now();
    const mail = await SampleRun.create(store, "mail", { pipeline: "mail", metadata: { tenant: "acme" } });
    const report = await SampleRun.create(store, "report");
    await mail.committed(1);
    await report.committed(1);
    advance(100_000);
    await mail.committed(2);
    await report.open(2);
    await store.settleModelCall(report.fence, {
      stepKey: report.stepKey,
      turnIndex: 2,
      attempt: 1,
      charge: { ...CHARGE, basis: "none", amount: NONE.charged },
    });
    await report.open(2);
    advance(LEASE_MS);
    // What its dead worker left open is charged in full.
    await store.requestCancel("report");
    const second = bucket(start + 100_000, 1, 1);
    const all = [
      bucket(start, 2, 0),
      { ...second, charges: { ...second.charges, none: { ...NONE, requests: 1 } } },
    ];
    assert.deepEqual(await spend(store, start), all);
    assert.deepEqual(await spend(store, start, { until: start + 100_000 }), all.slice(0, 1));
    assert.deepEqual(await spend(store, start + 1, { until: start + 100_000 }), []);
    const ofMail = [
      bucket(start, 1, 0, { pipeline: "mail" }),
      bucket(start + 100_000, 1, 0, { pipeline: "mail" }),
    ];
    const byPipeline = await spend(store, start, { by: "pipeline" });
    assert.deepEqual(
      byPipeline.filter(({ pipeline }) => pipeline === "mail"),
      ofMail,
    );
    assert.equal(byPipeline.length, 4);
    for (const scope of [{ pipelines: ["mail", "none"] }, { labels: { tenant: "acme" } }])
      assert.deepEqual(await spend(store, start, { by: "pipeline", ...scope }), ofMail);
    assert.deepEqual(
      await spend(store, start, { pipelines: ["mail"] }),
      ofMail.map((each) => ({ ...each, pipeline: null })),
    );
    assert.deepEqual(await spend(store, start, { pipelines: [] }), []);
    await assert.rejects(spend(store, start, { bucketMs: 0 }), /bucketMs is 0/);
  }),

  check("turns that were given up are lost, and those that a fork began with cost nothing", async (scene) => {
    const { store, now } = scene;
    const start = now();
    const run = await SampleRun.create(store, "run-1");
    await run.committed(1, { session: sessionCommit({ checkpoint: milestone({}) }) });
    await run.committed(2);
    await run.committed(3);
    await startLineage(run, 1);
    await startLineage(run, 1);
    await run.committed(4);
    const [only] = await spend(store, start);
    assert.deepEqual(only?.charges.provider, { requests: 4, charged: times(CHARGE.amount, 4) });
    assert.deepEqual(only?.lost, times(CHARGE.amount, 2), "each of them once");
    await store.releaseRun(run.fence, SUCCEEDED);
    await store.forkRun(newFork(run, 4));
    assert.deepEqual(await spend(store, start), [only]);
  }),

  check("the dearest runs are listed, of those that were created since", async ({ store, now, advance }) => {
    for (const [i, turns] of [3, 1, 2, 0].entries()) {
      const run = await SampleRun.create(store, `run-${i + 1}`, { pipeline: i === 2 ? "mail" : "report" });
      for (let turn = 1; turn <= turns; turn++) await run.committed(turn);
      advance(10);
    }
    const costly = async (since: number, over = {}) =>
      (await store.listCostlyRuns({ since, limit: 10, ...over })).map(({ runId }) => runId);
    const start = now() - 40;
    assert.deepEqual(await costly(start), ["run-1", "run-3", "run-2"]);
    assert.deepEqual(await costly(start + 10), ["run-3", "run-2"]);
    assert.deepEqual(await costly(start, { limit: 1 }), ["run-1"]);
    assert.deepEqual(await costly(start, { pipelines: ["mail"] }), ["run-3"]);
  }),

  check(
    "unfinished runs that have used most of a budget are listed, the fullest first",
    async ({ store }) => {
      const runs: readonly (readonly [string, object])[] = [
        ["tokens", limited(100)],
        ["dollars", limited(null, 310)],
        ["calls", { spec: newSpec({ maxToolCalls: 1 }) }],
        ["plenty", limited(10_000)],
        ["ended", limited(100)],
        ["unlimited", {}],
      ];
      for (const [runId, over] of runs) {
        const run = await SampleRun.create(store, runId, { metadata: { tenant: runId }, ...over });
        await run.open(1, { reserve: { tokens: 30, microDollars: 300 } });
        const journal = run.journal(1, runId === "calls" ? ["running"] : []);
        await store.journalResponse(run.fence, journal);
        if (runId === "tokens") {
          await store.commitTurn(run.fence, run.commit(1));
          await run.open(2, { reserve: { tokens: 55, microDollars: 0 } });
        }
        if (runId === "ended") await store.releaseRun(run.fence, FAILED);
      }
      const near = async (over = {}) => store.listRunsNearBudget({ limit: 10, ...over });
      assert.deepEqual(
        (await near()).map(({ run, fullest: { budget, used, limit } }) => [run.runId, budget, used, limit]),
        [
          ["calls", "maxToolCalls", 1, 1],
          ["dollars", "maxCostUsd", 0.0003, 0.00031],
          ["tokens", "maxTokens", 85, 100],
        ],
      );
      assert.equal((await near({ limit: 1 })).length, 1);
      assert.equal((await near({ pipelines: ["none"] })).length, 0);
      const [only] = await near({ labels: { tenant: "tokens" } });
      assert.deepEqual(only?.run, await store.readRunHead("tokens"));
    },
  ),
];
