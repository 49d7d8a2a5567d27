import type { RunHead } from "../../dashboard/src/api/documents.ts";

/** A head of a running run, with what a test cares about. */
export function runHead(given: Partial<RunHead> = {}): RunHead {
  return {
    runId: "q-1",
    pipeline: "report",
    queue: "default",
    status: "running",
    createdAt: "2026-11-18T12:00:00.000Z",
    updatedAt: "2026-11-18T12:00:00.000Z",
    eventSeq: 1,
    life: 1,
    owner: "web-1/4102",
    leaseUntil: "2026-11-18T12:00:20.000Z",
    readyAt: null,
    wakeAt: null,
    stalls: 0,
    currentStep: "crawl",
    objective: "Write a report",
    metadata: null,
    charged: { tokens: 0, microDollars: 0 },
    reserved: { tokens: 0, microDollars: 0 },
    limit: { tokens: null, microDollars: null },
    toolCalls: 0,
    failedCalls: 0,
    callsInDoubt: 0,
    openWaits: 0,
    firstWait: null,
    errorCode: null,
    errorMessage: null,
    startedBy: null,
    forkedFrom: null,
    ...given,
  };
}
