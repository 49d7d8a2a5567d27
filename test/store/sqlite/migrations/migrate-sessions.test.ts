import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  claimOptions,
  FINGERPRINT,
  FINGERPRINT_DOCUMENT,
  newReceipt,
  newStep,
  SampleRun,
  SUCCEEDED,
  sha256,
} from "../../../../src/testing/store/sample-run.ts";
import {
  appliedIn,
  eventTurn,
  milestone,
  NEW_FINGERPRINT,
  sampleEvent,
  sessionCommit,
  slicesOf,
  startLineage,
  wholeSlice,
} from "../../../../src/testing/store/sample-session.ts";
import { editor } from "../verify/tampered-store.ts";
import { databaseOfVersion, expectIntact, valuesOf, verified } from "./old-database.ts";

const RUNS = ["done", "waiting", "under-way"] as const;
/** After the last lease has expired. */
const LATER = Date.UTC(2026, 0, 2);

async function migrated(file = databaseOfVersion(2)): Promise<Store> {
  const store = await openStore(`file:${file}`, { now: () => LATER });
  onTestFinished(() => store.close());
  return store;
}

/** Claims the run for a new worker and enters its step "draft". */
async function claimedAt(store: Store, runId: string): Promise<SampleRun> {
  const attempt = { resumedFrom: "milestone", reason: "A deploy." } as const;
  const outcome = await store.claimRun(runId, claimOptions({ attempt, deadline: LATER + 1 }));
  if (outcome.kind !== "claimed") throw new Error(`The run is ${outcome.kind}.`);
  const fence = { runId, epoch: outcome.claim.epoch };
  return new SampleRun(store, fence, await store.beginStep(fence, newStep("draft")));
}

describe("a database of the second version", () => {
  it("has every value that it had", async () => {
    const file = databaseOfVersion(2);
    const before = valuesOf(file);
    expect(Object.values(before).every((rows) => rows.length > 0)).toBe(true);
    await (await openStore(`file:${file}`, { now: () => LATER })).close();
    expect(valuesOf(file, before)).toEqual(before);
    expectIntact(file);
  });

  it("verifies without problems, and each changed receipt is still detected", async () => {
    const file = databaseOfVersion(2);
    const store = await migrated(file);
    expect(await verified(store, RUNS)).toEqual({
      done: { events: 21, receipts: 4, blobs: 1, problems: [] },
      waiting: { events: 9, receipts: 1, blobs: 0, problems: [] },
      "under-way": { events: 10, receipts: 2, blobs: 1, problems: [] },
    });
    const database = editor(file);
    database.exec("UPDATE receipts SET session_events = '[]' WHERE call_no = 2");
    database.exec("INSERT INTO slice_items VALUES (1, 'plan', 0, '1')");
    database.close();
    expect((await store.verify("done")).problems.map(({ row }) => row)).toEqual([
      "receipt done/draft#1.2",
      "slice plan[0]",
    ]);
  });

  it("has no sessions, lineages and deadlines", async () => {
    const store = await migrated();
    for (const runId of RUNS) {
      expect((await store.getRun(runId))?.deadline).toBeNull();
      expect(await store.readSession(runId)).toEqual([]);
      expect(await store.listCheckpoints(runId)).toEqual([]);
      expect(await store.readCheckpoint(runId)).toBeNull();
      expect(await store.listLineages(runId)).toEqual([]);
      expect(await appliedIn(store, runId)).toEqual([]);
      const calls = await store.listToolCalls(runId);
      expect(calls.length).toBeGreaterThan(1);
      for (const { receipt } of calls) expect(receipt?.sessionEvents ?? []).toEqual([]);
      const attempts = await store.listAttempts(runId);
      expect(attempts.map(({ epoch, resumedFrom, reason }) => [epoch, resumedFrom, reason])).toEqual([
        [1, null, null],
      ]);
    }
    expect(await store.findWork("anna")).toBeNull();
  });

  it("has its conversations unchanged, with their fingerprints", async () => {
    const store = await migrated();
    const pinned = { hash: FINGERPRINT, document: FINGERPRINT_DOCUMENT };
    for (const [stepKey, tail, journaled] of [
      [1, [1, 2], null],
      [4, [1], 2],
      [5, [1], 2],
      [6, [], null],
    ] as const) {
      const conversation = await store.readConversation(stepKey, 1_000);
      expect(conversation).toMatchObject({ turnIndex: tail.length, fingerprint: pinned, lineages: [] });
      expect(conversation.tail.map(({ turnIndex }) => turnIndex)).toEqual(tail);
      expect(conversation.journaled?.turnIndex ?? null).toBe(journaled);
    }
    expect(await store.readHistory("done", "draft")).toHaveLength(8);
    const turns = await store.listTurns("under-way");
    expect(turns.map(({ turnIndex, committed }) => [turnIndex, committed])).toEqual([
      [1, true],
      [2, false],
    ]);
  });
});

describe("a run of the second version", () => {
  it("continues in its turn, has a session from then on, and ends", async () => {
    const store = await migrated();
    await store.settle("waiting/draft#2.1", { as: "succeeded", result: "It went out." });
    const run = await claimedAt(store, "waiting");
    await run.startApproved(2, 2, sha256("arguments").toString("hex"));
    const receipts = [newReceipt(2, { sessionEvents: [sampleEvent("at last")] })];
    const session = sessionCommit({
      slices: [wholeSlice("plan", ["done"])],
      applied: ["waiting/draft#1.1", "waiting/draft#2.2"],
      checkpoint: milestone({ plan: "done" }),
    });
    const commit = run.commit(2, { receipts, session, isComplete: true });
    expect(await store.commitTurn(run.fence, commit)).toEqual({ next: null, checkpoint: 1 });
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null });
    await store.releaseRun(run.fence, SUCCEEDED);
    expect(await slicesOf(store, "waiting")).toEqual({ plan: ["done"] });
    expect(await appliedIn(store, "waiting")).toEqual(["waiting/draft#1.1", "waiting/draft#2.2"]);
    expect((await store.verify("waiting")).problems).toEqual([]);
  });

  it("continues in a new lineage, from its beginning and from a checkpoint", async () => {
    const store = await migrated();
    const run = await claimedAt(store, "under-way");
    await store.settle("under-way/draft#2.2", { as: "failed", why: "It never left." });
    expect(await startLineage(run)).toBe(3);
    expect(await eventTurn(run, 3, { checkpoint: milestone({ turn: 3 }) })).toBe(1);
    await run.committed(4);
    expect(await startLineage(run, 1)).toBe(5);
    await run.committed(5, { isComplete: true });
    const conversation = await store.readConversation(run.stepKey, 1_000);
    expect(conversation).toMatchObject({
      turnIndex: 5,
      fingerprint: NEW_FINGERPRINT,
      lineages: [
        { firstTurn: 3, baseTurn: 0 },
        { firstTurn: 5, baseTurn: 3 },
      ],
    });
    expect(conversation.tail.map(({ turnIndex }) => turnIndex)).toEqual([5]);
    const turns = await store.listTurns("under-way");
    expect(turns.filter(({ committed }) => !committed).map(({ turnIndex }) => turnIndex)).toEqual([2]);
    expect((await store.getRun("under-way"))?.deadline).toBe(LATER + 1);
    expect((await store.listAttempts("under-way")).at(-1)).toMatchObject({
      resumedFrom: "milestone",
      reason: "A deploy.",
    });
    expect((await store.verify("under-way")).problems).toEqual([]);
  });
});
