import { describe, expect, test } from "vitest";
import {
  type CallAttemptDocument,
  callAttemptDocument,
  callDocument,
  type ModelCallDocument,
  modelCallDocument,
  turnDocument,
} from "../../../src/account/documents/call-documents.ts";
import { waitDocument } from "../../../src/account/documents/conversation-documents.ts";
import { runDocument, runHeadDocument } from "../../../src/account/documents/run-documents.ts";
import { LEASE_MS, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { START, tickingStore } from "../../export/sample-store.ts";

const ISO = /^2026-11-16T06:00:\d\d\.\d{3}Z$/;

async function runInDoubt() {
  const { store, clock } = await tickingStore();
  const run = await SampleRun.create(store, "q-1");
  await run.journaled(1, ["running"]);
  await run.endAttempt(1, 1);
  await run.waiting(run.wait(1, 1));
  return { store, clock, run };
}

describe("a document", () => {
  test("of a run has ISO times, a hash in hex, and none of the store's own fields", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store, "q-1");
    const document = runDocument(await run.record(), clock.at);
    expect(document).toMatchObject({ runId: "q-1", isInterrupted: false, deadline: null });
    expect([document.createdAt, document.updatedAt, document.leaseUntil].join(" ")).toMatch(/^2026-11-16T/);
    expect(document.inputHash).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(document)).not.toContain("epoch");
    expect(Object.keys(document)).not.toContain("context");
    const [head] = await store.listRunSummaries();
    expect(head === undefined ? null : runHeadDocument(head, clock.at + 2 * LEASE_MS)).toMatchObject({
      runId: "q-1",
      isInterrupted: true,
    });
  });

  test("of a run that nobody holds has no lease", async () => {
    const { run } = await runInDoubt();
    expect(runDocument(await run.record(), START)).toMatchObject({ leaseUntil: null, status: "waiting" });
  });

  test("of a call, its attempts and its question has ISO times", async () => {
    const { store, run } = await runInDoubt();
    const call = callDocument(await run.callAt(1, 1));
    expect(call).toMatchObject({ status: "in_doubt", receipt: null, createdAt: expect.stringMatching(ISO) });
    const attempts: readonly CallAttemptDocument[] = (await run.tries()).map(callAttemptDocument);
    expect(attempts).toMatchObject([
      { outcome: "timed_out", startedAt: expect.stringMatching(ISO), late: null },
    ]);
    const asked: readonly ModelCallDocument[] = (await store.listModelCalls("q-1")).map(modelCallDocument);
    expect(asked).toMatchObject([
      { openedAt: expect.stringMatching(ISO), settledAt: expect.stringMatching(ISO) },
    ]);
    expect((await run.waits()).map(waitDocument)).toMatchObject([
      { createdAt: expect.stringMatching(ISO), answeredAt: null },
    ]);
  });

  test("of a turn names its calls", async () => {
    const { store, run } = await runInDoubt();
    expect((await store.listTurns("q-1")).map(turnDocument)).toMatchObject([{ calls: [run.callId(1, 1)] }]);
  });
});
