import { expect, test } from "vitest";
import { callStory } from "../../../src/account/story/call-story.ts";
import { NOT_SENT } from "../../../src/core/call/tool-call-decision.ts";
import type { Receipt, ToolCallAttempt, ToolCallRecord, WaitRecord } from "../../../src/index.ts";
import { NO_CLOCK } from "../../../src/testing/store/sample-run.ts";

const CALL: ToolCallRecord = {
  toolCallId: "q-1/report#14.2",
  stepPath: "report",
  turnIndex: 14,
  callIndex: 2,
  namespace: "local",
  tool: "send_email",
  effect: "external",
  recovery: "reconcile",
  identityHash: "00",
  occurrence: 1,
  idempotencyKey: "11",
  status: "succeeded",
  attempt: 1,
  isSuperseded: false,
  request: {},
  receipt: null,
  createdAt: 0,
  startedAt: 0,
  endsBy: null,
};

const RECEIPT: Receipt = {
  status: "succeeded",
  output: { type: "json", value: null },
  blob: null,
  tokens: 0,
  errorCode: null,
  uncertain: false,
  source: "tool",
  correlationId: null,
  duplicateOf: null,
  sessionEvents: [],
  at: 1,
};

const ATTEMPT: ToolCallAttempt = {
  toolCallId: CALL.toolCallId,
  attempt: 1,
  startedAt: 0,
  endedAt: 1,
  outcome: "lost",
  errorCode: null,
  errorDetail: null,
  correlationId: null,
  late: null,
};

const WAIT: WaitRecord = {
  waitId: "q-1~1",
  runId: "q-1",
  kind: "in_doubt",
  toolCallId: CALL.toolCallId,
  attempt: 1,
  question: "Did it happen?",
  subject: {},
  argumentsHash: null,
  status: "answered",
  createdAt: 0,
  answeredAt: 1,
  answeredBy: "ana",
  people: [{ name: "ana", at: 1, authenticated: null }],
  answer: { as: "retry" },
  ...NO_CLOCK,
};

const receipt = (over: Partial<Receipt> = {}): Partial<ToolCallRecord> => ({
  receipt: { ...RECEIPT, ...over },
});
const open = (status: ToolCallRecord["status"], over: Partial<ToolCallRecord> = {}) => ({ ...over, status });
const wait = (over: Partial<WaitRecord> = {}): readonly WaitRecord[] => [{ ...WAIT, ...over }];
const lost = (over: Partial<ToolCallAttempt> = {}): readonly ToolCallAttempt[] => [{ ...ATTEMPT, ...over }];
const LOST = "Attempt 1 was lost with its worker, so it may have happened.";

type Case = readonly [
  string,
  Partial<ToolCallRecord>,
  readonly ToolCallAttempt[],
  readonly WaitRecord[],
  string,
];

const CASES: readonly Case[] = [
  ["its tool answered at once", receipt(), [], [], "Its tool answered. Sent once."],
  [
    "its tool failed, and it may have happened",
    receipt({ status: "failed", uncertain: true }),
    [],
    [],
    "Its tool failed. It may have happened anyway. Sent once.",
  ],
  [
    "it was looked up and found",
    receipt({ source: "reconciled", correlationId: "msg-81" }),
    lost(),
    [],
    `${LOST} It was looked up on the other side and found as msg-81, and was not sent again. Sent once.`,
  ],
  [
    "it was looked up, had not happened, and was sent again",
    { attempt: 2, ...receipt() },
    lost(),
    [],
    `${LOST} It was sent again, because a look-up had found that it had not happened. Its tool answered, on attempt 2. Sent 2 times.`,
  ],
  [
    "it was sent again with its key",
    { attempt: 2, recovery: "keyed", ...receipt() },
    lost({ outcome: "timed_out" }),
    [],
    "Attempt 1 timed out, so it may have happened. It was sent again, because it carries the same key, for which the other side does it only once. Its tool answered, on attempt 2. Sent 2 times.",
  ],
  [
    "it was repeated",
    { attempt: 3, recovery: "repeat", ...receipt() },
    [...lost({ outcome: "failed" }), ...lost({ attempt: 2, outcome: "aborted" })],
    [],
    "2 attempts ended without a result; the last one was stopped, so it may have happened. It was sent again, because it may be repeated. Its tool answered, on attempt 3. Sent 3 times.",
  ],
  [
    "nothing had happened, and it was sent again",
    { attempt: 2, recovery: "opaque", ...receipt() },
    lost({ outcome: "not_applied" }),
    [],
    "Attempt 1 reported that nothing had happened. It was sent again, because nothing had happened. Its tool answered, on attempt 2. Sent 2 times.",
  ],
  [
    "it had never left its process",
    { attempt: 2, recovery: "opaque", ...receipt() },
    lost({ outcome: "not_applied", errorCode: NOT_SENT }),
    [],
    "Attempt 1 was never sent. It was sent again, because nothing had happened. Its tool answered, on attempt 2. Sent once.",
  ],
  [
    "a person let it run again",
    { attempt: 2, recovery: "opaque", ...receipt() },
    lost(),
    wait(),
    `${LOST} It was sent again, because ana let it run again. Its tool answered, on attempt 2. Sent 2 times.`,
  ],
  [
    "a person settled it",
    receipt({ source: "person" }),
    lost(),
    wait({ answer: { as: "succeeded", result: null } }),
    `${LOST} ana settled it as succeeded, and it was not sent again. Sent once.`,
  ],
  [
    "a person settled it, and other evidence came later",
    receipt({ source: "person", status: "failed" }),
    lost({ late: { at: 2, status: "succeeded", output: RECEIPT.output } }),
    wait({ people: [], answer: { as: "failed", why: "no" } }),
    `${LOST} A person settled it as failed, and it was not sent again. Sent once. Evidence came later: attempt 1 had succeeded, which is not what it was settled as (failed).`,
  ],
  [
    "its first worker reported it",
    receipt({ source: "late" }),
    lost(),
    [],
    `${LOST} The worker that had lost the run reported its outcome, and it was not sent again. Sent once.`,
  ],
  [
    "another call had the same effect",
    { attempt: 0, ...receipt({ source: "pawl", status: "deduplicated", duplicateOf: "q-1/report#2.1" }) },
    [],
    [],
    "It was not sent, because q-1/report#2.1 had the same effect: this is its result. Never sent.",
  ],
  [
    "another call had the same effect, with other arguments",
    {
      attempt: 0,
      ...receipt({ status: "deduplicated", duplicateOf: "q-1/a#1.1", errorCode: "other_arguments" }),
    },
    [],
    [],
    "It was not sent, because q-1/a#1.1 had the same effect: this is its result. Its arguments were not those of that call. Never sent.",
  ],
  [
    "a person denied it",
    { attempt: 0, ...receipt({ source: "pawl", status: "cancelled" }) },
    [],
    wait({ kind: "approval", answer: { approved: false, why: "too much" } }),
    "ana denied it. Never sent.",
  ],
  [
    "Pawl refused it",
    { attempt: 0, ...receipt({ source: "pawl", status: "failed" }) },
    [],
    [],
    "Pawl refused it. Never sent.",
  ],
  [
    "its outcome stays unknown",
    receipt({ source: "pawl", status: "failed", uncertain: true }),
    lost(),
    [],
    `${LOST} Its caller got an unknown outcome, and it was not sent again. It may have happened anyway. Sent once.`,
  ],
  ["it is new", open("prepared", { attempt: 0 }), [], [], "It has not been sent yet. Never sent."],
  [
    "it waits for an approval",
    open("prepared", { attempt: 0 }),
    [],
    wait({ kind: "approval", status: "open", answer: null, people: [] }),
    "It is not sent before a person approves it. Never sent.",
  ],
  ["it is under way", open("running"), [], [], "Attempt 1 is under way. Sent once."],
  [
    "it pauses between two attempts",
    open("running"),
    lost({ outcome: "failed" }),
    [],
    "Attempt 1 failed. It has no result yet. Sent once.",
  ],
  [
    "it is in doubt and may be repeated",
    open("in_doubt", { recovery: "repeat" }),
    lost(),
    [],
    `${LOST} It may be repeated, so a resume sends it again. Sent once.`,
  ],
  [
    "it is in doubt and has a key",
    open("in_doubt", { recovery: "keyed" }),
    lost(),
    [],
    `${LOST} The other side does it only once for the same key, so a resume sends it again while the key is valid. Sent once.`,
  ],
  [
    "it is in doubt and can be looked up",
    open("in_doubt"),
    lost(),
    [],
    `${LOST} A resume looks it up on the other side before anything else. Sent once.`,
  ],
  [
    "it is in doubt and nothing can tell",
    open("in_doubt", { recovery: "opaque" }),
    lost(),
    [],
    `${LOST} Only a person can find out whether it happened: settle it. Sent once.`,
  ],
  [
    "it is in doubt and a person let it run again",
    open("in_doubt", { recovery: "opaque" }),
    lost(),
    wait(),
    `${LOST} ana let it run again, so a resume sends it again. Sent once.`,
  ],
];

test.each(CASES)("the story of a call: %s", (_, over, attempts, waits, story) => {
  expect(callStory({ ...CALL, ...over }, attempts, waits)).toBe(story);
});
