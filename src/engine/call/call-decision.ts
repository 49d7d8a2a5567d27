// The story of one tool call, shape by shape and file by file:
//
//   CallRequest ──► CallIdentity ──► UndecidedCall ──► CallPlan ──► PreparedCall ──► CallAttempt ──► ToolOutcome ──► receipt
//   call-request    call-identity    call-earlier-     (here)       call-prepared    tool-gateway                    call-receipt
//                   call-payload     result                         call-settlement
//
// What to do about it is always decided by `decideToolCall` of core/call/tool-call-decision.ts. It is asked three times:
//
//   1. when the response is journaled or replayed   turn/turn-call-plan.ts, steps/code-step-calls.ts ─► decideCall
//   2. when the call's place in the queue comes,    turn/turn-call-run.ts ─► decideCall
//      and an equal call before it has ended
//   3. after an attempt that left it in doubt       call-settlement.ts, with its own facts about that attempt

import {
  decideToolCall,
  NOT_SENT,
  PROCESS_ENDED,
  type ToolCallDecision,
  type ToolCallFacts,
} from "../../core/call/tool-call-decision.ts";
import { ONE_PERSON } from "../../core/person.ts";
import type { SessionState } from "../../session/slice-set.ts";
import type { Receipt, Store, ToolCallAttempt, ToolCallRecord, WaitRecord } from "../../store/store.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import { cancelled, failed, type ToolOutcome, unknownOutcome } from "../definition/tool-outcome.ts";
import type { ActiveRun, RunWith } from "../run/active-run.ts";
import type { EarlierCall } from "./call-earlier-result.ts";
import type { CallPayload } from "./call-payload.ts";
import { argumentsHash, type PreparedCall } from "./call-prepared.ts";
import type { AttemptTimes, CallProgress } from "./call-progress.ts";
import { askAbout, askAboutRow, askAgain } from "./call-questions.ts";
import type { CallRequest } from "./call-request.ts";
import { type CallEnd, isKeyValid } from "./call-settlement.ts";

/** A call before the decision about it, with everything that is known of it. */
export type UndecidedCall = {
  readonly place: Pick<PreparedCall, "stepKey" | "stepPath" | "stepName" | "turnIndex" | "callIndex">;
  readonly request: CallRequest;
  readonly payload: CallPayload;
  readonly idempotencyKey: string;
  readonly identityHash: string;
  readonly earlier: EarlierCall;
  /** Returns the session as the call finds it. */
  readonly sessionBase: () => SessionState;
  readonly blobThresholdBytes: number;
  /** The ledger row that an earlier worker wrote; null for a new call. */
  readonly known: ToolCallRecord | null;
  readonly past: CallPast;
};

/** Questions to people and failed attempts of the run, for calls without a receipt. */
export type CallPast = { readonly waits: readonly WaitRecord[]; readonly tries: readonly ToolCallAttempt[] };

export const NO_PAST: CallPast = { waits: [], tries: [] };

export async function readPast(store: Store, runId: string): Promise<CallPast> {
  return { waits: await store.listWaits(runId), tries: await store.listToolCallAttempts(runId) };
}

export type CallPlan =
  | { readonly kind: "replay"; readonly receipt: Receipt }
  | CallEnd
  | {
      readonly kind: "work";
      readonly call: PreparedCall;
      readonly facts: ToolCallFacts;
      readonly decision: Extract<ToolCallDecision, { kind: "execute" | "retry" | "reconcile" }>;
      readonly progress: CallProgress;
    };

/** Collects the facts of a call, and turns the decision of `core` into a plan. Nothing is written or sent here. */
export function decideCall(run: ActiveRun, undecided: UndecidedCall): CallPlan {
  const { known, payload } = undecided;
  if (known !== null && known.receipt !== null) return { kind: "replay", receipt: known.receipt };
  if (payload.kind === "misconfigured") {
    if (known === null || known.status === "prepared") throw payload.error;
    return planRefused(run, undecided, { errorCode: "misconfigured", error: payload.error.message });
  }
  if (payload.kind === "refused") return planRefused(run, undecided, payload);
  const { place, request, idempotencyKey, earlier, sessionBase, blobThresholdBytes } = undecided;
  const waits = waitsOf(undecided.past, known);
  const open = waits.find(({ kind, status }) => kind === "question" && status === "open");
  if (open !== undefined) return { kind: "person", wait: askAgain(place, open) };
  const { tool, input } = payload;
  // A call that was dispatched without approval needs none for its next attempt.
  const isNew = known === null || known.status === "prepared";
  const isOdd = earlier.kind === "uncertain" || earlier.kind === "left_over";
  const needsApproval =
    waits.some(({ kind }) => kind === "approval") || (isNew && (payload.approval !== null || isOdd));
  const approval = needsApproval ? (payload.approval ?? ONE_PERSON) : null;
  const call: PreparedCall = {
    ...place,
    tool,
    request: request.input,
    input,
    ownSecrets: request.ownSecrets,
    idempotencyKey,
    enforceKeys: request.enforceKeys,
    approval,
    approvedArguments: approval === null ? null : argumentsHash(run, tool, input, request.input, approval),
    sessionBase,
    blobThresholdBytes,
  };
  const { isSecretLost } = request;
  const facts = factsOf(run, call, undecided, waits);
  if (isSecretLost && facts.isToRetry)
    return settled(failed("secret_lost", secretLost(tool.name, "It cannot run again."), { uncertain: true }));
  const decision = decideToolCall(facts);
  switch (decision.kind) {
    case "execute":
      if (isSecretLost)
        return settled(cancelled("secret_lost", secretLost(tool.name, "It did not run: ask for it again.")));
      return { kind: "work", call, facts, decision, progress: progressOf(run, tool, undecided) };
    case "retry":
    case "reconcile":
      return { kind: "work", call, facts, decision, progress: progressOf(run, tool, undecided) };
    case "replay":
      throw new Error(`Call ${idempotencyKey} is settled and has no receipt.`);
    case "deduplicate":
      return deduplicated(earlier);
    case "ask":
      return {
        kind: "person",
        wait: askAbout(run, call, decision.why, { earlier, correlationId: correlationOf(undecided) }),
      };
    case "refuse":
      return refuse(undecided, decision.why, waits, call);
  }
}

/** A refused call. If it may have happened, it is not recorded as failed only because its arguments are invalid now. */
function planRefused(
  run: ActiveRun,
  { known, place, request, idempotencyKey, sessionBase, blobThresholdBytes, past }: UndecidedCall,
  refusal: { readonly errorCode: string; readonly error: string },
): CallPlan {
  const { tool, input, enforceKeys } = request;
  const { errorCode } = refusal;
  const error = run.policy.secrets.hideText(refusal.error);
  if (known === null || known.status === "prepared") return settled(cancelled(errorCode, error));
  if ((tool ?? known).recovery === "repeat") return settled(failed(errorCode, error, { uncertain: false }));
  if (isToRetry(known, waitsOf(past, known))) return settled(failed(errorCode, error, { uncertain: true }));
  // It was dispatched by an earlier version of the agent, which had this tool.
  if (tool === null) return { kind: "person", wait: askAboutRow(place.stepKey, known) };
  const call: PreparedCall = {
    ...place,
    tool,
    request: input,
    input,
    ownSecrets: request.ownSecrets,
    idempotencyKey,
    enforceKeys,
    approval: null,
    approvedArguments: null,
    sessionBase,
    blobThresholdBytes,
  };
  return { kind: "person", wait: askAbout(run, call, "in_doubt", { problem: error }) };
}

function factsOf(
  run: ActiveRun,
  { tool, approvedArguments }: PreparedCall,
  { known, earlier, past, request: { isSecretLost } }: UndecidedCall,
  waits: readonly WaitRecord[],
): ToolCallFacts {
  const sentAt = firstSentAt(past, known);
  const tries = past.tries.filter(({ toolCallId }) => toolCallId === known?.toolCallId);
  const lastTold = tries.some(({ attempt }) => attempt === known?.attempt);
  return {
    status: known?.status ?? "prepared",
    recovery: isSecretLost ? "opaque" : tool.recovery,
    inDoubt: tool.inDoubt,
    canReconcile: tool.reconcile !== null && !isSecretLost,
    keyIsValid: isKeyValid(run, tool, sentAt),
    wasNotApplied: lastTold && !tries.some(mayHaveHappened) && !isSecretLost,
    isToRetry: known !== null && isToRetry(known, waits),
    approval: approvedArguments === null ? "not_needed" : approvalOf(waits, approvedArguments),
    earlier: earlier.kind,
  };
}

/** When the key was sent first: its validity counts from then. */
function firstSentAt({ tries }: CallPast, known: ToolCallRecord | null): number | null {
  const first = tries.find(({ toolCallId }) => toolCallId === known?.toolCallId);
  return first?.startedAt ?? known?.startedAt ?? null;
}

/** Only an attempt that ended as `not_applied` certainly did nothing. */
function mayHaveHappened({ outcome }: ToolCallAttempt): boolean {
  return outcome !== "not_applied";
}

function waitsOf({ waits }: CallPast, known: ToolCallRecord | null): WaitRecord[] {
  return waits.filter(({ toolCallId }) => toolCallId === known?.toolCallId);
}

/** True if a person answered `retry` about this very attempt: the next doubt is a new question. */
function isToRetry({ attempt }: ToolCallRecord, waits: readonly WaitRecord[]): boolean {
  return waits.some(
    (wait) =>
      wait.attempt === attempt && wait.answer !== null && "as" in wait.answer && wait.answer.as === "retry",
  );
}

/** The newest approval, and whether it is for these arguments. */
function approvalOf(waits: readonly WaitRecord[], hash: string): ToolCallFacts["approval"] {
  const wait = waits.findLast(({ kind }) => kind === "approval");
  const answer = wait?.answer ?? null;
  if (wait === undefined || answer === null || !("approved" in answer)) return "needed";
  if (!answer.approved) return "denied";
  return wait.argumentsHash === hash ? "given" : "outdated";
}

function progressOf(run: ActiveRun, tool: PreparedTool, { known, past }: UndecidedCall): CallProgress {
  return {
    isBegun: false,
    attempt: known?.attempt ?? 0,
    sentAt: firstSentAt(past, known),
    unsent: past.tries.filter((each) => each.toolCallId === known?.toolCallId && each.errorCode === NOT_SENT)
      .length,
    mayHaveHappened: past.tries.some(
      (each) => each.toolCallId === known?.toolCallId && mayHaveHappened(each),
    ),
    correlationId: correlationOf({ known, past }),
    ...lastTryOf(run, tool, known, past),
    begunAt: run.time.clock.monotonic(),
  };
}

/**
 * The latest time at which the last attempt of an earlier worker ends. An attempt whose process ended, or that recorded
 * its end, had ended when this worker claimed the run. Any other worker may still be alive, and only this worker's clock
 * can be trusted: that attempt gets its whole timeout from the claim on.
 */
function lastTryOf(
  { time: { claimedAt } }: RunWith<"time">,
  tool: PreparedTool,
  known: ToolCallRecord | null,
  past: CallPast,
): AttemptTimes {
  if (known === null || known.startedAt === null) return { ownEndsBy: null, endedBy: null };
  const last = lastTry({ known, past });
  // It timed out and was given up on: it may still be running.
  if (last?.outcome === "timed_out") return { ownEndsBy: claimedAt.monotonic, endedBy: null };
  const hasEnded = last !== undefined && (last.outcome !== "lost" || last.errorCode === PROCESS_ENDED);
  if (hasEnded) return { ownEndsBy: claimedAt.monotonic, endedBy: known.endsBy };
  const itsTime = Math.max(tool.timeoutMs, (known.endsBy ?? 0) - known.startedAt);
  return { ownEndsBy: claimedAt.monotonic + itsTime, endedBy: null };
}

/** The correlation id of the last attempt only: a look-up of an earlier one says nothing about the call in doubt. */
function correlationOf(call: Pick<UndecidedCall, "known" | "past">): string | null {
  return lastTry(call)?.correlationId ?? null;
}

function lastTry({ known, past }: Pick<UndecidedCall, "known" | "past">): ToolCallAttempt | undefined {
  return past.tries.find(
    ({ toolCallId, attempt }) => toolCallId === known?.toolCallId && attempt === known.attempt,
  );
}

function settled(outcome: ToolOutcome): CallEnd {
  return { kind: "settled", outcome, attempt: 0 };
}

/** A row of its own with the whole receipt of the first call. */
function deduplicated(earlier: EarlierCall): CallEnd {
  if (earlier.kind !== "succeeded") throw new Error("Only a successful call can be deduplicated.");
  const { output, toolCallId, lacking } = earlier;
  return settled({
    status: "deduplicated",
    output,
    errorCode: null,
    uncertain: false,
    source: "pawl",
    correlationId: null,
    duplicateOf: toolCallId,
    sessionEvents: lacking,
  });
}

function refuse(
  { known }: UndecidedCall,
  why: Extract<ToolCallDecision, { kind: "refuse" }>["why"],
  waits: readonly WaitRecord[],
  { tool }: PreparedCall,
): CallEnd {
  switch (why) {
    case "denied": {
      const answer = waits.findLast(({ kind }) => kind === "approval")?.answer ?? null;
      const said =
        answer !== null && "approved" in answer && !answer.approved ? answer.why : "no reason given";
      return settled(cancelled("denied", `A person did not let ${tool.name} run: ${said}`));
    }
    case "unknown_outcome":
      return { kind: "settled", outcome: unknownOutcome(tool, null), attempt: known?.attempt ?? 0 };
  }
}

function secretLost(name: string, so: string): string {
  return `The arguments of ${name} held a secret, which is never stored, and the process that knew it is gone. ${so}`;
}
