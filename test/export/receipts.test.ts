// receipts.json: the ledger as a document.

import { describe, expect, it } from "vitest";
import { renderReceipts } from "../../src/export/receipts.ts";
import { LEASE_MS, newReceipt, SampleRun } from "../../src/testing/store/sample-run.ts";
import { eventfulRun } from "./eventful-run.ts";
import { tickingStore } from "./sample-store.ts";

describe("the receipts", () => {
  it("have each call with its attempts, its questions and its receipt", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await run.endAttempt(1, 1, { correlationId: "m-1" });
    clock.at += 2 * LEASE_MS;
    const next = await run.takenOver();
    await next.waiting(next.wait(1, 1));
    await store.settle("run-1/draft#1.1", { as: "succeeded", result: { ok: true } }, { by: "ann" });
    const { calls, ...head } = await renderReceipts(store, "run-1");
    expect(head).toEqual({ runId: "run-1", pipeline: "report", status: "queued" });
    expect(calls).toEqual([
      {
        toolCallId: "run-1/draft#1.1",
        step: "draft",
        turn: 1,
        call: 1,
        namespace: "local",
        tool: "search",
        effect: "external",
        recovery: "opaque",
        idempotencyKey: run.callKey(1, 1).toString("hex"),
        status: "succeeded",
        attempts: 1,
        isSuperseded: false,
        request: { query: "1.1" },
        createdAt: "2026-11-16T06:00:00.400Z",
        startedAt: "2026-11-16T06:00:00.400Z",
        tries: [
          {
            attempt: 1,
            startedAt: "2026-11-16T06:00:00.400Z",
            endedAt: "2026-11-16T06:00:00.500Z",
            outcome: "timed_out",
            errorCode: "timeout",
            errorDetail: "It took too long.",
            correlationId: "m-1",
            late: null,
          },
        ],
        questions: [
          {
            waitId: "run-1~1",
            kind: "in_doubt",
            question: "Did it happen?",
            status: "answered",
            askedAt: "2026-11-16T06:01:00.700Z",
            answeredAt: "2026-11-16T06:01:00.800Z",
            answeredBy: "ann",
            people: [{ name: "ann", at: "2026-11-16T06:01:00.800Z" }],
            answer: { as: "succeeded", result: { ok: true } },
          },
        ],
        receipt: {
          status: "succeeded",
          source: "person",
          output: { type: "json", value: { ok: true } },
          blob: null,
          tokens: expect.any(Number) as number,
          errorCode: null,
          uncertain: false,
          correlationId: null,
          duplicateOf: null,
          sessionEvents: [],
          at: "2026-11-16T06:01:00.800Z",
        },
      },
    ]);
  });

  it("have the evidence of a worker that reported too late", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    clock.at += 2 * LEASE_MS;
    const next = await run.takenOver();
    await next.receipt(1, 1);
    await store.offerLateReceipt(run.late(1, 1, newReceipt(1, { output: { type: "text", value: "Sent!" } })));
    const { calls } = await renderReceipts(store, "run-1");
    expect(calls).toMatchObject([
      {
        tries: [
          {
            outcome: "lost",
            late: { at: "2026-11-16T06:01:00.700Z", status: "succeeded", output: { value: "Sent!" } },
          },
        ],
      },
    ]);
  });

  it("have a call that waits, and are empty before any call was requested", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    expect((await renderReceipts(store, "run-1")).calls).toEqual([]);
    await run.journaled(1, ["prepared"]);
    expect((await renderReceipts(store, "run-1")).calls).toMatchObject([
      { status: "prepared", attempts: 0, startedAt: null, tries: [], questions: [], receipt: null },
    ]);
  });

  it("are in the order of the ledger, including those of an abandoned lineage", async () => {
    const { store, runId } = await eventfulRun();
    const document = await renderReceipts(store, runId);
    const calls = document.calls as readonly { toolCallId: string; status: string }[];
    expect(calls.map(({ toolCallId, status }) => `${toolCallId} ${status}`)).toEqual([
      "r-1/research#1.1 succeeded",
      "r-1/research#1.2 succeeded",
      "r-1/research#2.1 succeeded",
      "r-1/research#3.1 succeeded",
      "r-1/research#4.1 succeeded",
      "r-1/research#5.1 deduplicated",
      "r-1/research#6.1 succeeded",
      "r-1/research#6.2 succeeded",
      "r-1/research#7.1 deduplicated",
      "r-1/research#8.1 succeeded",
      "r-1/research#9.1 deduplicated",
      "r-1/research#10.1 deduplicated",
      "r-1/deliver#0.1 succeeded",
    ]);
  });
});
