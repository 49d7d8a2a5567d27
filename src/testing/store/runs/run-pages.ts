import assert from "node:assert/strict";
import type { RunFilter, RunSummary, Store } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { newSpec } from "../sample-contract.ts";
import { FAILED, limited, SampleRun, sha256 } from "../sample-run.ts";
import { queuedRun } from "./queue.ts";

/** Ten runs of two tenants in two queues; three of them are created in the same millisecond. */
async function tenRuns(store: Store, advance: (ms: number) => void): Promise<void> {
  for (let i = 0; i < 10; i++) {
    const [tenant, queue] = [i % 3 === 0 ? "acme" : "other", i % 2 === 0 ? "mail" : "default"];
    await store.enqueueRun(queuedRun(`run-${i}`, { queue, metadata: { tenant, tags: ["new", `n${i}`] } }));
    if (i < 3 || i > 5) advance(1);
  }
}

async function ids(store: Store, filter: RunFilter): Promise<string[]> {
  const [runs, summaries] = [await store.listRuns(filter), await store.listRunSummaries(filter)];
  assert.deepEqual(
    runs.map(({ runId }) => runId),
    summaries.map(({ runId }) => runId),
  );
  return summaries.map(({ runId }) => runId);
}

async function pages(store: Store, filter: RunFilter, between: () => Promise<unknown>): Promise<string[]> {
  const found: string[] = [];
  for (let after: RunSummary | undefined; ; ) {
    const page = await store.listRunSummaries({
      ...filter,
      limit: 3,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...page.map(({ runId }) => runId));
    after = page.at(-1);
    if (page.length < 3) return found;
    await between();
  }
}

export const runPageChecks: readonly Check[] = [
  check("runs are found by what their metadata says, and by their queue", async ({ store, advance }) => {
    await tenRuns(store, advance);
    assert.deepEqual(await ids(store, { metadata: { tenant: "acme" } }), [
      "run-9",
      "run-6",
      "run-3",
      "run-0",
    ]);
    assert.deepEqual(await ids(store, { metadata: { tags: "n4" } }), ["run-4"], "one of several values");
    assert.deepEqual(await ids(store, { metadata: { tenant: "acme", tags: "n4" } }), [], "all of them");
    assert.deepEqual(await ids(store, { metadata: { tags: "new", tenant: "acme" }, queue: "mail" }), [
      "run-6",
      "run-0",
    ]);
    assert.deepEqual(await ids(store, { metadata: { tenant: "nobody" } }), []);
    assert.deepEqual(await ids(store, { queue: "mail", limit: 2 }), ["run-8", "run-6"]);
    await store.requestCancel("run-8");
    assert.deepEqual(await ids(store, { queue: "mail", status: "cancelled", pipeline: "report" }), ["run-8"]);
    assert.deepEqual(await ids(store, { queue: "mail", pipeline: "other" }), []);
  }),

  check("pages are stable while runs are added and deleted", async ({ store, advance }) => {
    await tenRuns(store, advance);
    for (const filter of [
      {},
      { status: "queued" },
      { pipeline: "report" },
      { metadata: { tags: "new" } },
    ] as const) {
      const all = await ids(store, filter);
      let n = 0;
      const between = async () => {
        advance(1);
        n += 1;
        const runId = `new-${Object.keys(filter).join()}-${n}`;
        await store.enqueueRun(queuedRun(runId, { metadata: { tags: "new" } }));
      };
      assert.deepEqual(await pages(store, filter, between), all);
      assert.ok(n > 2);
    }
    const [first] = await store.listRunSummaries({ metadata: { tenant: "acme" }, limit: 1 });
    assert.ok(first !== undefined);
    await store.requestCancel(first.runId);
    await store.deleteRun(first.runId, { why: "old" });
    const rest = await ids(store, { metadata: { tenant: "acme" }, after: first });
    assert.deepEqual(rest, ["run-6", "run-3", "run-0"], "a cursor outlives its run");
  }),

  check("a summary has what is small of a run, and nothing else", async ({ store, now }) => {
    const run = await SampleRun.create(store, "run-1", {
      metadata: { tenant: "acme" },
      queue: "mail",
      spec: newSpec({ maxToolCalls: 7 }),
      startedBy: { by: "Ann" },
      ...limited(900, 9_000),
    });
    await run.committedWithCall(1);
    const message = `It broke. ${"🙂".repeat(400)}`;
    await store.releaseRun(run.fence, { ...FAILED, error: { ...FAILED.error, message } });
    const record = await run.record();
    const [summary] = await store.listRunSummaries();
    assert.deepEqual(await store.readRunHead("run-1"), summary);
    assert.equal(await store.readRunHead("none"), null);
    const { leaseUntil: _, ...rest } = summary ?? { leaseUntil: 0 };
    assert.deepEqual(rest, {
      runId: "run-1",
      pipeline: "report",
      status: "failed",
      queue: "mail",
      createdAt: now(),
      updatedAt: now(),
      eventSeq: (await store.listEvents("run-1")).length,
      currentStep: record.currentStep,
      metadata: { tenant: "acme" },
      objective: record.spec?.objective,
      readyAt: null,
      wakeAt: null,
      stalls: 0,
      owner: null,
      epoch: record.epoch,
      limit: { tokens: 900, microDollars: 9_000 },
      budgets: record.budgets,
      charged: record.charged,
      reserved: { tokens: 0, microDollars: 0 },
      toolCalls: 1,
      failedCalls: 0,
      callsInDoubt: 0,
      openWaits: 0,
      firstWait: null,
      errorCode: "step_failed",
      errorMessage: `It broke. ${"🙂".repeat(290)}`,
      startedBy: "Ann",
      forkedFrom: null,
    });
    assert.equal(record.budgets?.maxToolCalls, 7);
  }),

  check("a long objective is cut in a summary, and whole in the run", async ({ store }) => {
    const [long, fits] = ["🙂".repeat(500_000), "🙂".repeat(150)];
    await SampleRun.create(store, "run-1", { spec: { ...newSpec(), objective: long } });
    await SampleRun.create(store, "run-2", { spec: { ...newSpec(), objective: fits } });
    assert.equal((await store.readRunHead("run-1"))?.objective, `${"🙂".repeat(300)}…`);
    assert.equal((await store.readRunHead("run-2"))?.objective, fits);
    assert.equal((await store.getRun("run-1"))?.spec?.objective, long);
  }),

  check("a summary has the questions of a run to people, and what is in doubt", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "prepared", "running"]);
    await run.endAttempt(1, 1);
    await run.endAttempt(1, 3, { outcome: "needs_wait" });
    await run.waiting(
      run.wait(1, 3, { kind: "message", matches: "*" }),
      run.wait(1, 1, { question: "?".repeat(300) }),
      run.approval(1, 2, sha256("arguments").toString("hex")),
    );
    const { openWaits, firstWait, callsInDoubt, toolCalls } = (await store.readRunHead("run-1")) ?? {};
    assert.deepEqual([openWaits, callsInDoubt, toolCalls], [2, 1, 3]);
    assert.deepEqual(firstWait, { waitId: "run-1~2", kind: "in_doubt", question: "?".repeat(200) });
    await store.moveRun("run-1", "f".repeat(32));
    const moved = await store.readRunHead("run-1");
    assert.deepEqual([moved?.openWaits, moved?.firstWait, moved?.callsInDoubt], [0, null, 0], "not here");
  }),
];
