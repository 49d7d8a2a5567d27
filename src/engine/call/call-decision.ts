// The story of one tool call, shape by shape and file by file:
//
//   CallRequest ──► CallIdentity ──► UndecidedCall ──► CallPlan ──► PreparedCall ──► CallAttempt ──► ToolOutcome ──► receipt
//   call-request    call-identity    call-earlier-     (here)       call-prepared    tool-gateway                    call-receipt
//                   call-payload     result                         call-settlement  call-attempt
//
// `decideToolCall` of core/call/tool-call-decision.ts always decides what to do about a call. It is called three times:
//
//   1. when the response is journaled or replayed   turn/turn-call-plan.ts, steps/code-step-calls.ts ─► decideCall
//   2. when the call leaves the queue, if an equal  turn/turn-call-run.ts ─► decideCall
//      call before it has ended
//   3. after an attempt that left it in doubt       call-settlement.ts, with its own facts about that attempt

import {
  decideToolCall,
  NOT_SENT,
  PROCESS_ENDED,
  type ToolCallDecision,
  type ToolCallFacts,
} from "../../core/call/tool-call-decision.ts";
import type { Json } from "../../core/json.ts";
import { ONE_PERSON } from "../../core/person.ts";
import { asksPermission } from "../../core/wait.ts";
import type { SessionState } from "../../session/slice-set.ts";
import type { Receipt, Store, ToolCallAttempt, ToolCallRecord, WaitRecord } from "../../store/store.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import { cancelled, failed, type ToolOutcome, unknownOutcome } from "../definition/tool-outcome.ts";
import type { RunWith } from "../run/active-run.ts";
import { duplicateOutcome } from "./call-duplicate.ts";
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
  /** The requested arguments, to be compared with those of `earlier`. */
  readonly comparable: Json;
  /** Returns the session state that the call starts from. */
  readonly sessionBase: () => SessionState;
  readonly blobThresholdBytes: number;
  /** The ledger row that an earlier worker wrote; null for a new call. */
  readonly known: ToolCallRecord | null;
  readonly history: CallHistory;
};

/** Questions to people and failed attempts of the run, for calls without a receipt. */
export type CallHistory = {
  readonly waits: readonly WaitRecord[];
  readonly attempts: readonly ToolCallAttempt[];
};

export const NO_CALL_HISTORY: CallHistory = { waits: [], attempts: [] };

export async function readCallHistory(store: Store, runId: string): Promise<CallHistory> {
  return { waits: await store.listWaits(runId), attempts: await store.listToolCallAttempts(runId) };
}

/** A stored receipt, the end of the call, or the work that it still needs. */
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

type DecisionRun = RunWith<"runId" | "policy" | "time">;

/** Collects the facts about a call, and turns the decision of `core` into a plan. Writes and sends nothing. */
export function decideCall(run: DecisionRun, undecided: UndecidedCall): CallPlan {
  const { known, payload } = undecided;
  if (known !== null && known.receipt !== null) return { kind: "replay", receipt: known.receipt };
  if (payload.kind === "misconfigured") {
    if (known === null || known.status === "prepared") throw payload.error;
    return planRefused(run, undecided, { errorCode: "misconfigured", error: payload.error.message });
  }
  if (payload.kind === "refused") return planRefused(run, undecided, payload);
  const { place, request, idempotencyKey, earlier, sessionBase, blobThresholdBytes } = undecided;
  const waits = waitsOf(undecided.history, known);
  const open = waits.find(isUnanswered);
  if (open !== undefined) return { kind: "person", wait: askAgain(place, open) };
  const { tool, input } = payload;
  // A call that was dispatched without approval needs none for its next attempt.
  const isNew = known === null || known.status === "prepared";
  const mayRepeat = earlier.kind === "uncertain" || earlier.kind === "left_over";
  const needsApproval =
    waits.some(({ kind }) => asksPermission(kind)) || (isNew && (payload.approval !== null || mayRepeat));
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
  if (isSecretLost && facts.isRetryRequested)
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
      return { kind: "settled", attempt: 0, ...duplicateOutcome(tool, undecided) };
    case "ask":
      return {
        kind: "person",
        wait: askAbout(run, call, decision.why, { earlier, correlationId: correlationOf(undecided) }),
      };
    case "refuse":
      return refuse(undecided, decision.why, waits, call);
  }
}

/** An open wait for what the call itself asked for: its answer is the result of the call. */
function isUnanswered(wait: WaitRecord): wait is WaitRecord & { kind: "question" | "time" | "message" } {
  const { kind, status } = wait;
  return status === "open" && (kind === "question" || kind === "time" || kind === "message");
}

/** Plans a refused call. If it may have happened, invalid arguments alone do not make it a failed call. */
function planRefused(
  run: RunWith<"runId" | "policy">,
  { known, place, request, idempotencyKey, sessionBase, blobThresholdBytes, history }: UndecidedCall,
  refusal: { readonly errorCode: string; readonly error: string },
): CallPlan {
  const { tool, input, enforceKeys } = request;
  const { errorCode } = refusal;
  const error = run.policy.secrets.hideText(refusal.error);
  if (known === null || known.status === "prepared") return settled(cancelled(errorCode, error));
  if ((tool ?? known).recovery === "repeat") return settled(failed(errorCode, error, { uncertain: false }));
  if (isRetryRequested(known, waitsOf(history, known)))
    return settled(failed(errorCode, error, { uncertain: true }));
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
  run: RunWith<"time">,
  { tool, approvedArguments }: PreparedCall,
  { known, earlier, history, request: { isSecretLost } }: UndecidedCall,
  waits: readonly WaitRecord[],
): ToolCallFacts {
  const sentAt = firstSentAt(history, known);
  const attempts = history.attempts.filter(({ toolCallId }) => toolCallId === known?.toolCallId);
  const isLastAttemptRecorded = attempts.some(({ attempt }) => attempt === known?.attempt);
  return {
    status: known?.status ?? "prepared",
    recovery: isSecretLost ? "opaque" : tool.recovery,
    inDoubt: tool.inDoubt,
    canReconcile: tool.reconcile !== null && !isSecretLost,
    keyIsValid: isKeyValid(run, tool, sentAt),
    wasNotApplied: isLastAttemptRecorded && !attempts.some(mayHaveHappened) && !isSecretLost,
    isRetryRequested: known !== null && isRetryRequested(known, waits),
    approval: approvedArguments === null ? "not_needed" : approvalOf(waits, approvedArguments),
    earlier: earlier.kind,
  };
}

/** The time at which the key was first sent. Its validity counts from then. */
function firstSentAt({ attempts }: CallHistory, known: ToolCallRecord | null): number | null {
  const first = attempts.find(({ toolCallId }) => toolCallId === known?.toolCallId);
  return first?.startedAt ?? known?.startedAt ?? null;
}

/** Only an attempt that ended as `not_applied` certainly did nothing. */
function mayHaveHappened({ outcome }: ToolCallAttempt): boolean {
  return outcome !== "not_applied";
}

function waitsOf({ waits }: CallHistory, known: ToolCallRecord | null): WaitRecord[] {
  return waits.filter(({ toolCallId }) => toolCallId === known?.toolCallId);
}

/** True if a person answered `retry` about this very attempt: the next doubt is a new question. */
function isRetryRequested({ attempt }: ToolCallRecord, waits: readonly WaitRecord[]): boolean {
  return waits.some(
    (wait) =>
      wait.attempt === attempt && wait.answer !== null && "as" in wait.answer && wait.answer.as === "retry",
  );
}

/** The state of the newest approval; `outdated` if it is for other arguments. */
function approvalOf(waits: readonly WaitRecord[], hash: string): ToolCallFacts["approval"] {
  const wait = waits.findLast(({ kind }) => asksPermission(kind));
  const answer = wait?.answer ?? null;
  if (wait === undefined || answer === null || !("approved" in answer)) return "needed";
  if (!answer.approved) return "denied";
  return wait.argumentsHash === hash ? "given" : "outdated";
}

function progressOf(
  run: RunWith<"time">,
  tool: PreparedTool,
  { known, history }: UndecidedCall,
): CallProgress {
  return {
    isBegun: false,
    attempt: known?.attempt ?? 0,
    sentAt: firstSentAt(history, known),
    unsent: history.attempts.filter(
      (each) => each.toolCallId === known?.toolCallId && each.errorCode === NOT_SENT,
    ).length,
    mayHaveHappened: history.attempts.some(
      (each) => each.toolCallId === known?.toolCallId && mayHaveHappened(each),
    ),
    correlationId: correlationOf({ known, history }),
    ...lastAttemptTimes(run, tool, known, history),
    begunAt: run.time.clock.monotonic(),
  };
}

/**
 * The latest time at which the last attempt of an earlier worker ends. An attempt whose process ended, or that recorded
 * its end, had ended when this worker claimed the run. Any other worker may still be alive, and only this worker's clock
 * can be trusted: that attempt gets its whole timeout from the claim on.
 */
function lastAttemptTimes(
  { time: { claimedAt } }: RunWith<"time">,
  tool: PreparedTool,
  known: ToolCallRecord | null,
  history: CallHistory,
): AttemptTimes {
  if (known === null || known.startedAt === null) return { ownEndsBy: null, endedBy: null };
  const last = lastAttempt({ known, history });
  // It timed out and was given up on: it may still be running.
  if (last?.outcome === "timed_out") return { ownEndsBy: claimedAt.monotonic, endedBy: null };
  const hasEnded = last !== undefined && (last.outcome !== "lost" || last.errorCode === PROCESS_ENDED);
  if (hasEnded) return { ownEndsBy: claimedAt.monotonic, endedBy: known.endsBy };
  const timeoutMs = Math.max(tool.timeoutMs, (known.endsBy ?? 0) - known.startedAt);
  return { ownEndsBy: claimedAt.monotonic + timeoutMs, endedBy: null };
}

/** The correlation id of the last attempt only: a look-up of an earlier one says nothing about the call in doubt. */
function correlationOf(call: Pick<UndecidedCall, "known" | "history">): string | null {
  return lastAttempt(call)?.correlationId ?? null;
}

function lastAttempt({
  known,
  history,
}: Pick<UndecidedCall, "known" | "history">): ToolCallAttempt | undefined {
  return history.attempts.find(
    ({ toolCallId, attempt }) => toolCallId === known?.toolCallId && attempt === known.attempt,
  );
}

function settled(outcome: ToolOutcome): CallEnd {
  return { kind: "settled", outcome, attempt: 0 };
}

function refuse(
  { known }: UndecidedCall,
  why: Extract<ToolCallDecision, { kind: "refuse" }>["why"],
  waits: readonly WaitRecord[],
  { tool }: PreparedCall,
): CallEnd {
  switch (why) {
    case "denied": {
      const wait = waits.findLast(({ kind }) => asksPermission(kind));
      const answer = wait?.answer ?? null;
      const reason =
        answer !== null && "approved" in answer && !answer.approved ? answer.why : "no reason given";
      const isSilence = wait?.onDue?.action === "deny" && wait.onDue.why === reason;
      const who = isSilence ? `${tool.name} was not approved` : `A person denied ${tool.name}`;
      return settled(cancelled("denied", `${who}: ${reason}`));
    }
    case "unknown_outcome":
      return { kind: "settled", outcome: unknownOutcome(tool, null), attempt: known?.attempt ?? 0 };
  }
}

function secretLost(name: string, consequence: string): string {
  return `The arguments of ${name} held a secret, which is never stored, and the process that knew it is gone. ${consequence}`;
}
