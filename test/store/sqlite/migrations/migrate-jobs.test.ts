import { describe, expect, it, onTestFinished } from "vitest";
import { NO_BUDGETS } from "../../../../src/core/usage/budget.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { budgetWait } from "../../../../src/testing/store/sample-contract.ts";
import { claimedAt, keyedTurn, newFork } from "../../../../src/testing/store/sample-fork.ts";
import { newReceipt, SampleRun, SUCCEEDED, sha256 } from "../../../../src/testing/store/sample-run.ts";
import { databaseOfVersion, expectIntact, valuesOf, verified, withRows } from "./old-database.ts";

const RUNS = ["done", "waiting", "failed", "under-way"] as const;
const ARGUMENTS = sha256("arguments").toString("hex");
/** After the last lease has expired. */
const LATER = Date.UTC(2026, 0, 2);
const HOUR_MS = 3_600_000;

type Opened = { readonly store: Store; readonly advance: (ms: number) => void };

async function migrated(): Promise<Opened> {
  let now = LATER;
  const store = await openStore(`file:${databaseOfVersion(3)}`, { now: () => now });
  onTestFinished(() => store.close());
  return {
    store,
    advance: (ms) => {
      now += ms;
    },
  };
}

/** Asserts that every run verifies without problems. */
async function expectVerified(store: Store, ...runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) expect([runId, (await store.verify(runId)).problems]).toEqual([runId, []]);
}

describe("a database of the third version", () => {
  it("has every value that it had, including its waits", async () => {
    const file = databaseOfVersion(3);
    const before = valuesOf(file);
    expect(Object.values(before).every((rows) => rows.length > 0)).toBe(true);
    expect(before.waits).toHaveLength(6);
    await (await openStore(`file:${file}`, { now: () => LATER })).close();
    expect(valuesOf(file, before)).toEqual(before);
    expectIntact(file);
    withRows(file, (database) => {
      const plan = database.prepare(
        "EXPLAIN QUERY PLAN SELECT 1 FROM waits WHERE status = 'open' AND run_no = 2",
      );
      expect(JSON.stringify(plan.all())).toContain("open_waits");
      const orphan = "UPDATE waits SET call_no = 999 WHERE run_no = 2 AND wait_index = 1";
      expect(() => database.exec(orphan)).toThrow(/FOREIGN KEY/);
    });
  });

  it("verifies without problems", async () => {
    const { store } = await migrated();
    expect(await verified(store, RUNS)).toEqual({
      done: { events: 21, receipts: 3, blobs: 1, problems: [] },
      waiting: { events: 15, receipts: 3, blobs: 0, problems: [] },
      failed: { events: 7, receipts: 0, blobs: 0, problems: [] },
      "under-way": { events: 8, receipts: 2, blobs: 1, problems: [] },
    });
  });

  it("has no contracts, cancel requests, artifacts and forks", async () => {
    const { store } = await migrated();
    for (const runId of RUNS) {
      const run = await store.getRun(runId);
      expect([run?.spec, run?.budgets, run?.cancelRequestedAt, run?.forkedFrom]).toEqual([
        null,
        null,
        null,
        null,
      ]);
      expect(await store.listArtifacts(runId)).toEqual([]);
      expect(await store.isCancelRequested(runId)).toBe(false);
    }
    expect(await store.countWork("done")).toEqual({ steps: 2, toolCalls: 3 });
    expect((await store.getRun("waiting"))?.deadline).toBe(Date.UTC(2026, 0, 1) + 40 + HOUR_MS);
  });

  it("has the same open waits, for every run", async () => {
    const { store } = await migrated();
    const waits = await store.listWaits("waiting");
    expect(
      waits.map(({ waitId, kind, status, toolCallId, attempt }) => [
        waitId,
        kind,
        status,
        toolCallId,
        attempt,
      ]),
    ).toEqual([
      ["waiting~1", "in_doubt", "open", "waiting/draft#2.1", 1],
      ["waiting~2", "approval", "withdrawn", "waiting/draft#2.2", 0],
      ["waiting~3", "escalation", "answered", "waiting/draft#2.3", 1],
      ["waiting~4", "approval", "answered", "waiting/draft#2.5", 0],
      ["waiting~5", "approval", "open", "waiting/draft#2.2", 0],
    ]);
    expect(waits[2]?.answer).toEqual({ as: "answered", value: { colour: "grün" } });
    expect(waits[4]?.argumentsHash).toBe(ARGUMENTS);
    expect((await store.listOpenWaits()).map(({ waitId }) => waitId)).toEqual([
      "waiting~1",
      "waiting~5",
      "failed~1",
    ]);
  });
});

describe("a run of the third version", () => {
  it("is answered, resumes and ends", async () => {
    const { store } = await migrated();
    await store.settle("waiting/draft#2.1", { as: "succeeded", result: "It went out." });
    await store.approve("waiting~5");
    expect((await store.getRun("waiting"))?.status).toBe("queued");
    const run = await claimedAt(store, "waiting");
    await run.startApproved(2, 2, ARGUMENTS);
    await run.startApproved(2, 5, ARGUMENTS);
    const receipts = [newReceipt(2), newReceipt(5)];
    await store.commitTurn(run.fence, run.commit(2, { receipts, isComplete: true }));
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
    await store.releaseRun(run.fence, SUCCEEDED);
    await expectVerified(store, ...RUNS);
  });

  it("gets back its waiting time from now on, but not earlier waiting time", async () => {
    const { store, advance } = await migrated();
    const deadline = (await store.getRun("waiting"))?.deadline ?? 0;
    const run = await claimedAt(store, "waiting");
    expect((await run.record()).deadline).toBe(deadline);
    await run.waiting(run.approval(2, 2, ARGUMENTS));
    advance(HOUR_MS);
    await claimedAt(store, "waiting");
    expect((await run.record()).deadline).toBe(deadline + HOUR_MS);
  });

  it("accepts budgets, artifacts, and budget waits", async () => {
    const { store } = await migrated();
    const outcome = await store.claimRun("failed", {
      leaseMs: 1,
      from: ["failed"],
      budgets: { maxSteps: 1 },
    });
    if (outcome.kind !== "claimed") throw new Error(`The run is ${outcome.kind}.`);
    expect(outcome.claim.run.budgets).toEqual({ ...NO_BUDGETS, maxSteps: 1 });
    const fence = { runId: "failed", epoch: outcome.claim.epoch };
    const bytes = Buffer.from("It works.");
    await store.keepArtifact(fence, { stepKey: null, name: "report.txt", bytes });
    const waits = [budgetWait("maxSteps", 1, 2)];
    await store.releaseRun(fence, { status: "waiting", error: null, waits });
    await store.answer("failed~2", 2);
    expect((await store.getRun("failed"))?.budgets?.maxSteps).toBe(2);
    expect(await store.readArtifact("failed", "report.txt")).toEqual(Uint8Array.from(bytes));
    await expectVerified(store, "failed");
  });

  it("can have a response dropped, with the open wait about its call", async () => {
    const { store } = await migrated();
    const run = await claimedAt(store, "failed");
    await store.dropTurn(run.fence, { stepKey: run.stepKey, turnIndex: 1 });
    expect((await store.listWaits("failed")).map(({ status, toolCallId }) => [status, toolCallId])).toEqual([
      ["withdrawn", null],
    ]);
    expect(await store.listToolCalls("failed")).toEqual([]);
    await expectVerified(store, "failed");
  });

  it("can be forked at a turn of its current lineage, and the fork continues", async () => {
    const { store } = await migrated();
    const steps = await store.listSteps("done");
    const draft = steps.find(({ path }) => path === "draft");
    if (draft === undefined) throw new Error("There is no step.");
    const done = new SampleRun(store, { runId: "done", epoch: 1 }, draft);
    await store.forkRun(newFork(done, 3));
    const fork = await claimedAt(store, "fork");
    await keyedTurn(fork, 4, [], { isComplete: true });
    await store.finishStep(fork.fence, { stepKey: fork.stepKey, output: 1, context: null });
    await store.releaseRun(fork.fence, SUCCEEDED);
    expect((await store.listToolCalls("fork")).map(({ receipt }) => receipt?.duplicateOf ?? null)).toEqual([
      null,
      "fork/draft#1.1",
      null,
    ]);
    await expectVerified(store, "done", "fork");
  });

  it("can be cancelled, with its waits withdrawn and its calls in doubt", async () => {
    const { store } = await migrated();
    expect(await store.requestCancel("waiting")).toMatchObject({ kind: "ended", inDoubt: [] });
    const outcome = await store.requestCancel("under-way");
    expect(outcome).toMatchObject({ kind: "ended", inDoubt: ["under-way/draft#2.2"] });
    expect((await store.listOpenWaits()).map(({ waitId }) => waitId)).toEqual(["failed~1"]);
    await expectVerified(store, ...RUNS);
  });
});
