// Made-up runs for looking at the pages while they are written. They are the same at every start, but for the time.

import type { RunHead, RunStatus } from "../src/api/documents.ts";

const PIPELINES = ["report", "triage", "support-desk", "nightly-import"] as const;
const STATUSES: readonly RunStatus[] = [
  "interrupted",
  "waiting",
  "failed",
  "running",
  "succeeded",
  "succeeded",
  "running",
  "waiting",
  "succeeded",
  "cancelled",
  "queued",
  "failed",
  "succeeded",
  "moved",
  "succeeded",
];
const OBJECTIVES = [
  "Write a report about the museum's site and send it to the curator",
  "Answer ticket 4711: the parcel has not arrived",
  "Compare the quotes of three suppliers and recommend one",
  "Import last night's orders and flag what looks wrong",
  "Summarise the release notes of the last quarter for the sales team",
];
const STEPS = ["crawl", "draft", "review", "answer", null];
const ERRORS: readonly (readonly [string, string])[] = [
  [
    "budget_exceeded",
    "The run has used 20 of 20 tool calls. Raise maxToolCalls, or resume with another budget.",
  ],
  ["tool_failed", "send_email failed three times: 550 mailbox unavailable."],
];

function pick<T>(list: readonly T[], at: number): T {
  const item = list[at % list.length];
  if (item === undefined) throw new Error("An empty list.");
  return item;
}

const iso = (ms: number): string => new Date(ms).toISOString();

export function mockHead(number: number, now: number): RunHead {
  const status = pick(STATUSES, number);
  const at = now - number * number * 20_000 - number * 37_000 - 20_000;
  const error = status === "failed" ? pick(ERRORS, number) : null;
  const limit = number % 3 === 2 ? null : 2_500_000;
  const charged = status === "queued" ? 0 : (number * 7_919 * 31) % 2_100_000;
  return {
    runId: number % 5 === 0 ? `museum-${100 - number}` : `q-${481 - number}`,
    pipeline: pick(PIPELINES, number),
    queue: "default",
    status,
    createdAt: iso(at - 600_000),
    updatedAt: iso(at),
    eventSeq: 300 - (number % 200),
    life: 1 + (number % 3),
    owner: status === "running" ? "web-1/4102" : null,
    leaseUntil: status === "running" ? iso(now + 20_000) : status === "interrupted" ? iso(at) : null,
    readyAt: null,
    wakeAt: null,
    stalls: 0,
    currentStep: pick(STEPS, number),
    objective: pick(OBJECTIVES, number),
    metadata: { tenant: "acme" },
    charged: { tokens: charged / 10, microDollars: charged },
    reserved:
      status === "running" ? { tokens: 4_000, microDollars: 180_000 } : { tokens: 0, microDollars: 0 },
    limit: { tokens: null, microDollars: limit },
    toolCalls: (number * 13) % 42,
    callsInDoubt: number % 15 === 0 ? 1 : 0,
    openWaits: status === "waiting" ? 1 : 0,
    firstWait:
      status === "waiting"
        ? { waitId: `w-${number}`, kind: "approval", question: "May send_email run, to 3 recipients?" }
        : null,
    errorCode: error?.[0] ?? null,
    errorMessage: error?.[1] ?? null,
    startedBy: "ana",
    forkedFrom: null,
  };
}
