import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  claimOptions,
  newReceipt,
  newStart,
  newStep,
  SampleRun,
  SUCCEEDED,
} from "../../../../src/testing/store/sample-run.ts";
import { editor } from "../verify/tampered-store.ts";
import { databaseOfVersion, expectIntact, valuesOf, verified, withRows } from "./old-database.ts";

const RUNS = ["done", "under-way", "failed", "paused"] as const;
/** After the last lease has expired. */
const LATER = Date.UTC(2026, 0, 2);

async function migrated(file = databaseOfVersion(1)): Promise<Store> {
  const store = await openStore(`file:${file}`, { now: () => LATER });
  onTestFinished(() => store.close());
  return store;
}

/** The calls of a run: their status, and the number of their attempts. */
async function callsOf(store: Store, runId: string): Promise<unknown[]> {
  const calls = await store.listToolCalls(runId);
  return calls.map(({ toolCallId, status, attempt, receipt }) => [
    toolCallId.slice(runId.length + 1),
    status,
    attempt,
    receipt?.status ?? null,
  ]);
}

async function claimed(store: Store, runId: string, ...steps: readonly string[]): Promise<SampleRun[]> {
  const outcome = await store.claimRun(runId, claimOptions());
  if (outcome.kind !== "claimed") throw new Error(`The run is ${outcome.kind}.`);
  const fence = { runId, epoch: outcome.claim.epoch };
  const begun: SampleRun[] = [];
  for (const name of steps)
    begun.push(new SampleRun(store, fence, await store.beginStep(fence, newStep(name))));
  return begun;
}

describe("a database of the first version", () => {
  it("has every value that it had", async () => {
    const file = databaseOfVersion(1);
    const before = valuesOf(file);
    expect(Object.values(before).every((rows) => rows.length > 0)).toBe(true);
    await (await openStore(`file:${file}`, { now: () => LATER })).close();
    expect(valuesOf(file, before)).toEqual(before);
  });

  it("is intact, and has no dangling references", async () => {
    const file = databaseOfVersion(1);
    await (await openStore(`file:${file}`)).close();
    expectIntact(file);
    withRows(file, (database) => {
      const references = database
        .prepare("SELECT \"table\" AS t FROM pragma_foreign_key_list('receipts')")
        .all();
      expect(references).toEqual([{ t: "tool_calls" }]);
      const orphan =
        "INSERT INTO receipts VALUES (999, 'failed', 1, 1, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '', NULL)";
      expect(() => database.exec(orphan)).toThrow(/FOREIGN KEY/);
    });
  });

  it("has its calls with all that is known about them", async () => {
    const store = await migrated();
    expect(await callsOf(store, "done")).toEqual([
      ["draft#1.1", "succeeded", 1, "succeeded"],
      ["draft#1.2", "failed", 1, "failed"],
      ["draft#1.3", "failed", 0, "failed"],
      ["loop[1]/code#0.1", "succeeded", 1, "succeeded"],
    ]);
    expect(await callsOf(store, "under-way")).toEqual([
      ["draft#1.1", "succeeded", 1, "succeeded"],
      ["draft#2.1", "succeeded", 1, "succeeded"],
      ["draft#2.2", "running", 1, null],
      ["draft#2.3", "prepared", 0, null],
      ["code#0.1", "succeeded", 1, "succeeded"],
      ["code#0.2", "running", 1, null],
    ]);
    for (const runId of RUNS) {
      for (const { effect, recovery, receipt, startedAt, endsBy } of await store.listToolCalls(runId)) {
        expect(recovery).toBe(effect === "read_only" ? "repeat" : "opaque");
        expect(endsBy === null).toBe(startedAt === null);
        if (receipt !== null)
          expect(receipt).toMatchObject({
            source: "tool",
            uncertain: false,
            correlationId: null,
            duplicateOf: null,
            sessionEvents: [],
          });
      }
      expect([await store.listWaits(runId), await store.listToolCallAttempts(runId)]).toEqual([[], []]);
    }
    const [large] = await store.listToolCalls("done");
    expect(large?.receipt?.blob?.size).toBe(64);
    for (const runId of ["done", "under-way"])
      expect(await store.readBlob(runId, large?.receipt?.blob?.blobId ?? "")).toHaveLength(64);
    expect(await store.readHistory("done", "draft")).toHaveLength(8);
    expect((await store.listCodeStepCalls(5)).map(({ request }) => request)).toEqual([
      { query: "code 1" },
      { query: "code 2" },
    ]);
  });

  it("verifies without problems, although its events have no digests", async () => {
    const store = await migrated();
    expect(await verified(store, RUNS)).toEqual({
      done: { events: 20, receipts: 4, blobs: 1, problems: [] },
      "under-way": { events: 14, receipts: 3, blobs: 1, problems: [] },
      failed: { events: 5, receipts: 0, blobs: 0, problems: [] },
      paused: { events: 3, receipts: 0, blobs: 0, problems: [] },
    });
  });

  it("still has changed events and blobs detected", async () => {
    const file = databaseOfVersion(1);
    const store = await migrated(file);
    const database = editor(file);
    database.exec("UPDATE events SET data = '{\"turn\":9}' WHERE run_no = 1 AND seq = 7");
    database.exec("UPDATE blobs SET bytes = X'00'");
    database.close();
    const { problems } = await store.verify("done");
    expect(problems.map(({ row }) => row)).toEqual(["event 7", expect.stringMatching(/^blob 32849d32/)]);
  });
});

describe("a run of the first version", () => {
  it("has its running calls in doubt once it is claimed", async () => {
    const store = await migrated();
    await claimed(store, "under-way");
    expect(await callsOf(store, "under-way")).toEqual([
      ["draft#1.1", "succeeded", 1, "succeeded"],
      ["draft#2.1", "succeeded", 1, "succeeded"],
      ["draft#2.2", "in_doubt", 1, null],
      ["draft#2.3", "prepared", 0, null],
      ["code#0.1", "succeeded", 1, "succeeded"],
      ["code#0.2", "in_doubt", 1, null],
    ]);
    expect(
      (await store.listToolCallAttempts("under-way")).map(({ toolCallId, outcome }) => [toolCallId, outcome]),
    ).toEqual([
      ["under-way/draft#2.2", "lost"],
      ["under-way/code#0.2", "lost"],
    ]);
  });

  it("that had failed has its call in doubt, too", async () => {
    const store = await migrated();
    await claimed(store, "failed");
    expect(await callsOf(store, "failed")).toEqual([["draft#1.1", "in_doubt", 1, null]]);
  });

  it("resumes to its end, and every new row in it is covered", async () => {
    const file = databaseOfVersion(1);
    const store = await migrated(file);
    const [draft, code, review] = await claimed(store, "under-way", "draft", "code", "review");
    if (draft === undefined || code === undefined || review === undefined) throw new Error("No steps.");
    const { fence } = draft;
    await store.settle("under-way/draft#2.2", { as: "succeeded", result: "It went out." });
    await draft.start(2, 3);
    await store.commitTurn(fence, draft.commit(2, { receipts: [newReceipt(3)], isComplete: true }));
    await store.finishStep(fence, { stepKey: draft.stepKey, output: 1, context: null });
    const again = { stepKey: code.stepKey, turnIndex: 0, calls: [newStart(2)] };
    await store.startToolCalls(fence, again);
    await code.receipt(0, 2);
    await store.finishStep(fence, { stepKey: code.stepKey, output: 2, context: null });
    await review.open(1);
    const journal = review.journal(1, [], { attempt: 2 });
    await store.commitTurn(fence, review.commit(1, { journal, isComplete: true }));
    await store.finishStep(fence, { stepKey: review.stepKey, output: 3, context: null });
    await store.releaseRun(fence, SUCCEEDED);
    expect(await store.verify("under-way")).toMatchObject({ receipts: 6, problems: [] });
    expect((await callsOf(store, "under-way")).map((call) => (call as string[])[1])).toEqual(
      Array<string>(6).fill("succeeded"),
    );

    const database = editor(file);
    database.exec("UPDATE receipts SET tokens = tokens + 1 WHERE call_no IN (7, 8, 10)");
    database.close();
    expect((await store.verify("under-way")).problems.map(({ row }) => row).toSorted()).toEqual([
      "receipt under-way/code#0.2",
      "receipt under-way/draft#2.2",
      "receipt under-way/draft#2.3",
    ]);
  });

  it("does not make new runs beside it look like old ones", async () => {
    const file = databaseOfVersion(1);
    const store = await migrated(file);
    const run = await SampleRun.create(store, "new");
    await run.journaled(1, ["running"]);
    const database = editor(file);
    database.exec(`INSERT INTO receipts SELECT max(call_no), 'succeeded', 1, 1, NULL, 0, 'tool', NULL, NULL, NULL, NULL,
                   '{"type":"json","value":1}', NULL FROM tool_calls`);
    database.close();
    expect((await store.verify("new")).problems.map(({ row }) => row)).toEqual(["receipt new/draft#1.1"]);
  });
});
