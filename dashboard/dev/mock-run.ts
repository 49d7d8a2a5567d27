// One made-up run with everything that its page can show: two deaths, a wait, a fork, lost work, a call in doubt.

import type { Answer } from "../src/api/client.ts";
import type { RunHead } from "../src/api/documents.ts";

export const MOCK_RUN = "museum-100";

export const iso = (ms: number): string => new Date(ms).toISOString();
export const STEP = "report";
export const callId = (turn: number, index: number): string => `${MOCK_RUN}/${STEP}#${turn}.${index}`;

type Timeline = Answer<"getTimeline">;
type Slice = Timeline["slices"][number];
type Call = Answer<"listCalls">["items"][number];

type Life = {
  readonly number: number;
  readonly from: number;
  readonly to: number;
  readonly turns: readonly number[];
};

/** Beginning and end of each life, in milliseconds after the first claim. */
const LIVES: readonly Life[] = [
  { number: 1, from: 0, to: 68_000, turns: [1, 2, 3, 4, 5, 6] },
  { number: 2, from: 83_000, to: 141_000, turns: [6, 7, 8, 9] },
  { number: 3, from: 1_010_000, to: 1_072_000, turns: [9, 10, 11, 12, 13, 14] },
];
export const OWNERS = ["web-1/4102/k3x9", "web-1/4180/p0aa", "web-2/4411/z81c"];
const TOOLS = ["fetch_page", "search", "read_file", "fetch_page", "summarise"];

export function mockTimeline(zero: number): Timeline {
  const slices = LIVES.flatMap((life) => slicesOf(life, zero));
  return {
    from: zero,
    to: zero + 1_090_000,
    lives: LIVES.map(({ number, from, to }, index) => ({
      number,
      epoch: number,
      owner: OWNERS[index] ?? "",
      startedAt: iso(zero + from),
      endedAt: iso(zero + to),
      end: number === 2 ? ("released" as const) : ("died" as const),
      goneBy: number === 1 ? iso(zero + 83_000) : number === 3 ? iso(zero + 1_087_000) : null,
      endStatus: number === 2 ? "waiting" : null,
      resumedFrom: number === 1 ? null : "turn",
      reason: null,
    })),
    livesLeftOut: 0,
    slices,
    merged: [],
    marks: slices
      .filter(({ category, isCut }) => category === "turn" && !isCut)
      .map(({ life, end, step, turn }) => ({
        life,
        kind: turn === 4 ? ("checkpoint" as const) : ("commit" as const),
        name: turn === 4 ? "checkpoint 1" : "commit",
        at: end,
        until: end,
        count: 1,
        step,
        turn,
        toolCallId: null,
      })),
    waits: [
      {
        waitId: `${MOCK_RUN}~1`,
        kind: "approval",
        toolCallId: callId(9, 1),
        status: "answered",
        start: zero + 140_000,
        end: zero + 1_001_000,
        people: ["ana"],
      },
    ],
    waitsLeftOut: 0,
    minMs: 0,
    eventSeq: 318,
    isLive: false,
  };
}

function slicesOf({ number, from, to, turns }: Life, zero: number): readonly Slice[] {
  const each = (to - from - 1_000) / turns.length;
  const slice = (
    category: Slice["category"],
    name: string,
    start: number,
    end: number,
    turn: number | null,
    call: string | null,
  ): Slice => ({
    id: `${number}:${category}:${call ?? `${STEP}#${turn ?? 0}`}:1`,
    life: number,
    lane: call?.endsWith(".2") === true ? 2 : 1,
    depth: { step: category === "step" && name.includes("/") ? 2 : 1, turn: 3, model: 4, tool: 4 }[category],
    category,
    name,
    start: zero + start,
    end: zero + end,
    isCut: number !== 2 && end >= to - 1,
    isOpen: false,
    outcome: category === "model" ? "provider" : category === "tool" ? "succeeded" : null,
    step: STEP,
    turn,
    toolCallId: call,
  });
  return [
    slice("step", "report", from + 200, to, null, null),
    ...turns.flatMap((turn, index) => {
      const start = from + 500 + index * each;
      const isLast = index === turns.length - 1;
      const end = isLast ? to : start + each * 0.97;
      const tool = turn === 14 || turn === 9 ? "send_email" : (TOOLS[turn % TOOLS.length] ?? "");
      const failed = turn === 3 ? { outcome: "failed" } : {};
      return [
        slice("turn", `turn ${turn}`, start, end, turn, null),
        slice("model", "model call", start, start + each * 0.5, turn, null),
        { ...slice("tool", tool, start + each * 0.52, end, turn, callId(turn, 1)), ...failed },
        ...(turn % 3 === 1
          ? [slice("tool", "search", start + each * 0.55, start + each * 0.8, turn, callId(turn, 2))]
          : []),
      ];
    }),
  ];
}

const ARGUMENTS = {
  to: "anna@museum.example",
  subject: "Report \u202efdp.exe",
  body: "Dear Anna,\n\nthe report is attached.",
};

function callStatus(turn: number): string {
  return turn === 14 ? "in_doubt" : turn === 3 ? "failed" : turn === 11 ? "deduplicated" : "succeeded";
}

export function mockCalls(zero: number): readonly Call[] {
  return Array.from({ length: 14 }, (_, index) => index + 1).map((turn) => {
    const status = callStatus(turn);
    const tool = turn === 14 || turn === 9 ? "send_email" : (TOOLS[turn % TOOLS.length] ?? "");
    return {
      toolCallId: callId(turn, 1),
      stepPath: STEP,
      turnIndex: turn,
      callIndex: 1,
      tool,
      effect: tool === "send_email" ? "external" : "read",
      recovery: tool === "send_email" ? "reconcile" : "repeat",
      status,
      attempt: turn === 6 ? 2 : 1,
      occurrence: 1,
      idempotencyKey: "9f3c1d7e5a0b4c2d8e6f7a9b0c1d2e3f3f9c1d7e5a0b4c2d8e6f7a9b0c1d2e3f",
      identityHash: "77aa",
      request: tool === "send_email" ? ARGUMENTS : { url: `https://museum.example/page/${turn}` },
      receipt:
        status === "in_doubt"
          ? null
          : {
              status: status === "deduplicated" ? "succeeded" : status,
              output:
                status === "failed"
                  ? { error: "404 not found" }
                  : { title: `Page ${turn}`, links: [1, 2, 3] },
              blob: turn === 5 ? { blobId: "b-5", size: 1_400_000 } : null,
              errorCode: status === "failed" ? "tool_failed" : null,
              uncertain: false,
              source: turn === 9 ? "reconciled" : "tool",
              correlationId: turn === 9 ? "msg-81" : null,
              duplicateOf: status === "deduplicated" ? callId(6, 1) : null,
              at: iso(zero + turn * 9_000),
            },
      createdAt: iso(zero + turn * 9_000),
      startedAt: iso(zero + turn * 9_000),
      endsBy: null,
    };
  });
}

export function mockCallDetail(zero: number, id: string): Answer<"getCall"> | undefined {
  const call = mockCalls(zero).find(({ toolCallId }) => toolCallId === id);
  if (call === undefined) return undefined;
  const lost = {
    attempt: 1,
    startedAt: iso(zero + 1_068_000),
    endedAt: iso(zero + 1_072_000),
    outcome: "lost",
    errorCode: null,
    errorDetail: null,
    correlationId: null,
    late: null,
  };
  const story =
    call.status === "in_doubt"
      ? "Attempt 1 was lost with its worker, so it may have happened. A resume looks it up on the other side before anything else. Sent once."
      : call.turnIndex === 9
        ? "Attempt 1 was lost with its worker, so it may have happened. It was looked up on the other side and found as msg-81, and was not sent again. Sent once."
        : "Its tool answered. Sent once.";
  return {
    ...call,
    attempts: call.turnIndex === 14 || call.turnIndex === 9 ? [lost] : [],
    story,
    waitId: null,
  };
}

export function mockModelCalls(zero: number): Answer<"listModelCalls"> {
  const items = Array.from({ length: 16 }, (_, index) => index).map((index) => {
    const isLost = index === 6 || index === 10;
    const at = zero + (LIVES[index < 6 ? 0 : index < 10 ? 1 : 2]?.from ?? 0) + (index % 6) * 9_500 + 4_000;
    return {
      stepPath: STEP,
      turnIndex: index < 7 ? index + 1 : index < 11 ? index : index - 1,
      attempt: isLost ? 2 : 1,
      reserved: { tokens: 8_000, microDollars: 60_000 },
      charge: {
        basis: isLost ? ("baseline" as const) : ("provider" as const),
        amount: { tokens: 5_000 + index * 300, microDollars: 21_000 + index * 1_900 },
        usage: {
          inputTokens: 4_000 + index * 800,
          outputTokens: 300 + index * 21,
          cachedInputTokens: index * 700,
          reasoningTokens: index * 12,
        },
      },
      openedAt: iso(at - 3_000),
      settledAt: iso(at),
    };
  });
  return { items, nextCursor: null, asOf: iso(Date.now()) };
}

const TYPES = [
  "turn.opened",
  "model.called",
  "turn.journaled",
  "calls.started",
  "call.settled",
  "turn.committed",
];

export function mockEvents(zero: number, after: number, limit: number): Answer<"listEvents"> {
  const last = Math.min(318, after + limit);
  const items = Array.from({ length: Math.max(0, last - after) }, (_, index) => {
    const seq = after + index + 1;
    return {
      seq,
      at: iso(zero + seq * 3_300),
      type: seq === 1 ? "run.created" : (TYPES[seq % TYPES.length] ?? ""),
      facts: { step: STEP, turn: Math.ceil(seq / 23), epoch: seq < 120 ? 1 : seq < 200 ? 2 : 3 },
      hash: (seq * 2_654_435_761).toString(16).padStart(8, "0").repeat(8).slice(0, 64),
    };
  });
  return { items, nextCursor: null, asOf: iso(Date.now()) };
}

export function mockRun(head: RunHead): Answer<"getRun"> {
  return {
    head: {
      ...head,
      eventSeq: 318,
      life: 3,
      toolCalls: 42,
      callsInDoubt: 1,
      limit: { tokens: null, microDollars: 2_500_000 },
      charged: { tokens: 42_000, microDollars: 1_420_000 },
      reserved: { tokens: 4_000, microDollars: 180_000 },
    },
    entrypoint: head.pipeline,
    inputHash: "abc",
    input: { url: "https://museum.example", to: "anna@museum.example" },
    output: null,
    error: null,
    spec: null,
    deadline: null,
    cancelRequestedAt: null,
    forkedFrom: { runId: "q-477", stepPath: STEP, turnIndex: 3 },
    startedBy: { name: "ana", at: Date.parse(head.createdAt), authenticated: null },
    moved: null,
    finalArtifact: null,
    workerVersion: "1.4.0",
    concurrencyKey: null,
    priority: 0,
    usage: {
      inputTokens: 160_000,
      outputTokens: 8_200,
      cachedInputTokens: 84_000,
      reasoningTokens: 1_440,
      charged: { tokens: 168_200, microDollars: 1_420_000 },
      modelCalls: 16,
      baseline: { charged: { tokens: 11_000, microDollars: 64_000 }, modelCalls: 2 },
    },
    budgets: [
      { name: "maxCostUsd", limit: 2.5, used: 1.42, reserved: 0.18 },
      { name: "maxToolCalls", limit: 60, used: 42, reserved: 0 },
      { name: "maxSteps", limit: 40, used: 14, reserved: 0 },
      { name: "maxWallclockMinutes", limit: 30, used: 27.4, reserved: 0 },
    ],
    lostWork: { charged: { tokens: 11_000, microDollars: 64_000 }, requests: 2 },
    outage: null,
    steps: 1,
    turns: 14,
    isConversation: false,
    resumeRequested: null,
    next: [
      {
        what: "Find out whether it happened, and settle it",
        acts: (["succeeded", "retry", "failed"] as const).map((as) => ({
          act: "settle" as const,
          callId: callId(14, 1),
          as,
        })),
      },
      { what: "Then resume it", acts: [{ act: "resume", runId: head.runId, notBefore: null }] },
    ],
  };
}
