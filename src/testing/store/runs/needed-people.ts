import assert from "node:assert/strict";
import type { Store } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { FAILED, LEASE_MS, SampleRun, sha256 } from "../sample-run.ts";
import { queuedRun } from "./queue.ts";

const HASH = sha256("arguments").toString("hex");

async function needed(store: Store, filter = {}): Promise<string[]> {
  const runs = await store.listRunSummaries({ ...filter, needsPerson: true });
  assert.equal((await store.countRuns(filter)).needsPerson, runs.length, "it is counted so, too");
  return runs.map(({ runId }) => runId);
}

export const neededPeopleChecks: readonly Check[] = [
  check(
    "a run that asks people needs one, until it is answered or moved away",
    async ({ store, advance }) => {
      for (const runId of ["asks", "asks-too", "sleeps"]) {
        const run = await SampleRun.create(store, runId, { metadata: { tenant: runId } });
        await run.journaled(1, ["prepared", "running"]);
        await run.endAttempt(1, 2, { outcome: "needs_wait" });
        const sleep = run.wait(1, 2, { kind: "message", matches: "*" });
        await run.waiting(...(runId === "sleeps" ? [sleep] : [run.approval(1, 1, HASH), sleep]));
        advance(1);
      }
      assert.deepEqual(await needed(store), ["asks-too", "asks"]);
      assert.deepEqual(await needed(store, { metadata: { tenant: "asks" } }), ["asks"]);
      assert.deepEqual(await needed(store, { pipelines: ["other"] }), []);
      assert.deepEqual(await needed(store, { status: ["running"] }), []);
      const [page] = await store.listRunSummaries({ needsPerson: true, limit: 1 });
      assert.ok(page !== undefined);
      const behind = await store.listRunSummaries({ needsPerson: true, after: page });
      assert.deepEqual(
        behind.map(({ runId }) => runId),
        ["asks"],
      );
      await store.approve("asks~1");
      await store.moveRun("asks-too", "f".repeat(32));
      assert.deepEqual(await needed(store), []);
    },
  ),

  check("an interrupted run needs one, until a worker has claimed it", async ({ store, advance }) => {
    const run = await SampleRun.create(store, "run-1");
    assert.deepEqual(await needed(store), []);
    advance(LEASE_MS);
    assert.deepEqual(await needed(store), ["run-1"]);
    await run.takenOver();
    assert.deepEqual(await needed(store), []);
  }),

  check("a run with a call in doubt needs one, until it is decided or has a receipt", async ({ store }) => {
    const runs: SampleRun[] = [];
    for (const runId of ["failed", "settled", "retried", "told"]) {
      const run = await SampleRun.create(store, runId);
      await run.journaled(1, ["running"]);
      await run.endAttempt(1, 1);
      runs.push(run);
    }
    const [failed, settled, retried, told] = runs;
    assert.ok(failed !== undefined && settled !== undefined && retried !== undefined && told !== undefined);
    assert.equal((await needed(store)).length, 4);
    await told.receipt(1, 1);
    for (const run of [settled, retried]) await run.waiting(run.wait(1, 1));
    await store.releaseRun(failed.fence, FAILED);
    assert.equal((await needed(store)).length, 3, "also one that has failed");
    await store.settle(settled.callId(1, 1), { as: "succeeded", result: "sent" });
    await store.settle(retried.callId(1, 1), { as: "retry" });
    assert.deepEqual(await needed(store), ["failed"]);
    const [summary] = await store.listRunSummaries({ needsPerson: true });
    assert.equal(summary?.callsInDoubt, 1);
    await store.settle(failed.callId(1, 1), { as: "failed", why: "It did not happen." });
    assert.deepEqual(await needed(store), []);
  }),

  check("runs are counted by the status that people see, all of them or those of a filter", async (scene) => {
    const { store, advance, now } = scene;
    const none = {
      queued: 0,
      running: 0,
      interrupted: 0,
      waiting: 0,
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      moved: 0,
    };
    const nothing = { counts: none, total: 0, needsPerson: 0, isCapped: false };
    assert.deepEqual(await store.countRuns(), nothing);
    await SampleRun.create(store, "lost", { pipeline: "mail" });
    advance(LEASE_MS);
    const since = now();
    await SampleRun.create(store, "held", { metadata: { tenant: "acme" } });
    for (const [i, pipeline] of ["mail", "mail", "report", "other"].entries())
      await store.enqueueRun(
        queuedRun(`q-${i}`, { pipeline, metadata: { tenant: i < 2 ? "acme" : "other" } }),
      );
    await store.requestCancel("q-0");
    const some = { counts: none, needsPerson: 0, isCapped: false };
    const all = { ...none, running: 1, interrupted: 1, queued: 3, cancelled: 1 };
    assert.deepEqual(await store.countRuns(), { ...some, counts: all, total: 6, needsPerson: 1 });
    const mail = { ...none, interrupted: 1, queued: 1, cancelled: 1 };
    assert.deepEqual(await store.countRuns({ pipelines: ["mail", "none"], limit: 1 }), {
      ...some,
      counts: mail,
      total: 3,
      needsPerson: 1,
    });
    const acme = { ...none, running: 1, queued: 1, cancelled: 1 };
    assert.deepEqual(await store.countRuns({ metadata: { tenant: "acme" } }), {
      ...some,
      counts: acme,
      total: 3,
    });
    const recent = { ...none, queued: 3, cancelled: 1 };
    assert.deepEqual(await store.countRuns({ createdSince: since, status: ["queued", "cancelled"] }), {
      ...some,
      counts: recent,
      total: 4,
    });
    assert.deepEqual(await store.countRuns({ idPrefix: "q-", text: "-1" }), {
      ...some,
      counts: { ...none, queued: 1 },
      total: 1,
    });
    assert.deepEqual(await store.countRuns({ pipelines: [] }), nothing);
  }),
];
