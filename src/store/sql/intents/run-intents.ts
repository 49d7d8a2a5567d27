import { canonicalJson } from "../../../core/canonical-json.ts";
import type { StoreUnavailableError } from "../../../core/errors.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { decideClaim } from "../../../core/run/claim-decision.ts";
import { decideRelease } from "../../../core/run/release-decision.ts";
import { parseToolCallId, toolCallId } from "../../../core/step-path.ts";
import type { StoredError } from "../../../core/stored-error.ts";
import { allowanceAfter } from "../../../core/usage/allowance.ts";
import { isMailWait, type NewWait } from "../../../core/wait.ts";
import type { ClaimOptions, ClaimOutcome, Fence, ModelCallRecord, RunEnd } from "../../store.ts";
import { type AbandonedAttempts, ANYTHING } from "../leases.ts";
import { get, type SqlScript } from "../script.ts";
import { findArtifactHash } from "../tables/artifact-rows.ts";
import { hasText, withdrawMailWaits } from "../tables/exchange-rows.ts";
import { leftOpen, lostEvents } from "../tables/fence.ts";
import { restoreMessages, returnMessages } from "../tables/message-rows.ts";
import { assertNotDeleted } from "../tables/missing-run.ts";
import { assertHere } from "../tables/moved-run.ts";
import { allow, allowanceOf, endWaiting } from "../tables/run-budgets.ts";
import { readPartsOfRecord, requireRecord, savedRecord } from "../tables/run-record.ts";
import {
  fencedRun,
  fencedRunRow,
  findRun,
  lockedRun,
  parseJson,
  type RunRow,
  recordEvent,
  rowToLeave,
  saveRun,
} from "../tables/run-row.ts";
import { CODE_STEP_TURN, withdrawWaits } from "../tables/tool-call-rows.ts";
import { changeRow, type Transaction } from "../transaction.ts";
import { assertOpenPart } from "../verify/verify-open.ts";
import { limitReached, stall, stallsAtClaim } from "./claim-limits.ts";
import { leaveRunningCalls } from "./in-doubt.ts";
import { endAttempt, markRunningSteps, settleOpenCalls } from "./left-open.ts";
import { answerFromMailbox } from "./message-intents.ts";
import { keepRequestLeft, reasoned, withRequest } from "./resume-intents.ts";
import { insertAttempt, marksFacts, takesText } from "./run-creation.ts";
import { cancelRequestedBy, endAbandoned, endCancelRequest, freeLease } from "./run-interruption.ts";
import { openWaits, queueIfAnswered, withdrawBudgetWaits } from "./wait-intents.ts";

export function* claimRun(tx: Transaction, runId: string, options: ClaimOptions): SqlScript<ClaimOutcome> {
  // Under limits it is not submitted as an intent of this run: see SqlStore.
  const row = yield* options.limits === undefined ? findRun(runId) : lockedRun(tx, runId);
  if (row === null) {
    yield* assertNotDeleted(runId);
    return { kind: "not_found" };
  }
  yield* assertHere(row);
  const isHeld = tx.leases.isHeld(row, tx.now);
  const isCancelRequested = row.cancelRequestedAt !== null;
  const isEarly =
    options.onlyIfReady === true && (row.isUnstarted || (row.wakeAt !== null && row.wakeAt > tx.now));
  const { kind } = decideClaim({ status: row.status, isHeld, isCancelRequested, isEarly }, options.from);
  const isLeft = row.owner === null || (kind !== "busy" && (yield* tx.mayTakeFrom(row.owner)));
  if (kind === "busy" || !isLeft)
    return { kind: "busy", owner: row.owner ?? "", until: tx.leases.endOf(row, tx.now) };
  yield* assertOpenPart(row);
  switch (kind) {
    case "refused":
      return { kind, run: yield* requireRecord(runId) };
    case "end_abandoned": {
      const parts = yield* readPartsOfRecord(row);
      yield* endAbandoned(tx, row, cancelRequestedBy(row));
      return { kind: "refused", run: savedRecord(tx, row, parts) };
    }
    case "claim":
      return (yield* unlessLimited(tx, row, options)) ?? (yield* claim(tx, row, options));
  }
}

/** Null if the run may be claimed. */
function* unlessLimited(
  tx: Transaction,
  row: RunRow,
  { limits, maxStalls }: ClaimOptions,
): SqlScript<ClaimOutcome | null> {
  row.stalls = yield* stallsAtClaim(row);
  if (maxStalls !== undefined && row.stalls >= maxStalls) {
    const parts = yield* readPartsOfRecord(row);
    yield* stall(tx, row);
    return { kind: "stalled", run: savedRecord(tx, row, parts) };
  }
  // Limits are for workers: a person may resume a run beside others.
  const by = limits === undefined ? null : yield* limitReached(tx, row, limits);
  return by === null ? null : { kind: "limited", by };
}

function* claim(tx: Transaction, row: RunRow, given: ClaimOptions): SqlScript<ClaimOutcome> {
  const isReplaced = given.replacesRequest === true && row.resumeRequest !== null;
  const options = yield* withRequest(row, given);
  const parts = yield* readPartsOfRecord(row);
  const left = yield* leftOpen(tx.leases, row);
  const attempt = options.attempt === undefined ? null : reasoned(row, options.attempt);
  const restored = row.status === "failed" ? yield* restoreMessages(tx, row) : [];
  takeLease(tx, row, options);
  const raised = Object.entries(options.budgets ?? {});
  yield* withdrawBudgetWaits(
    tx,
    row,
    raised.map(([name]) => name),
  );
  // Requests that the earlier owner may have sent are charged: it is unknown whether the provider answered them.
  const chargedAsLost = yield* settleOpenCalls(tx, row, left);
  const leaving = yield* leaveRunningCalls(tx, row, left);
  insertAttempt(tx, row, attempt);
  saveRun(tx, row, "run.claimed", {
    owner: tx.leases.owner,
    epoch: row.epoch,
    ...marksFacts(row),
    ...attempt,
    ...(isReplaced ? { replacesRequest: true } : {}),
    ...(raised.length === 0 ? {} : { budgets: Object.fromEntries(raised) }),
    ...leaving.facts,
    ...(restored.length === 0 ? {} : { messages: [...restored] }),
    chargedAsLost: chargedAsLost.map(lostCallFacts),
  });
  const { runId, epoch } = row;
  return {
    kind: "claimed",
    claim: { epoch, run: savedRecord(tx, row, parts) },
    chargedAsLost,
    foundInDoubt: leaving.inDoubt.map(({ step, turn, call }) => toolCallId(runId, step, turn, call)),
  };
}

/** Gives the run to this owner, under a new epoch and with what the claim allows. */
function takeLease(tx: Transaction, row: RunRow, options: ClaimOptions): void {
  endWaiting(row, tx.now);
  row.epoch += 1;
  row.owner = tx.leases.owner;
  row.leaseUntil = tx.now + options.leaseMs;
  row.leaseMs = options.leaseMs;
  row.isLeaseNew = true;
  row.marks = options.marksEffects === true ? tx.leases.marks : null;
  row.status = "running";
  row.workerVersion = options.workerVersion ?? null;
  row.error = null;
  // A claim overrides an earlier cancel request.
  endCancelRequest(row);
  allow(row, allowanceAfter(allowanceOf(row), tx.now, options));
}

export function lostCallFacts({ stepPath, turnIndex, attempt, reserved }: ModelCallRecord): JsonObject {
  return { stepPath, turnIndex, attempt, reserved };
}

/** The marks of this owner can no longer be written: from now on everything it begins may have been sent. */
export function* turnMarksOff(tx: Transaction, fence: Fence): SqlScript<void> {
  const row = yield* fencedRunRow(tx, fence);
  if (row.marks === null) return;
  row.marks = null;
  saveRun(tx, row, "marks.off", { epoch: fence.epoch });
}

export function* keepTrace(tx: Transaction, fence: Fence, traceParent: string): SqlScript<void> {
  const run = yield* fencedRun(tx, fence);
  const { epoch } = fence;
  changeRow(tx, run, "attempts", { epoch }, { trace_parent: traceParent });
  recordEvent(tx, run, "run.traced", { epoch, traceParent });
}

/** A renewal changes nothing that an event covers, so that it needs none. */
export function* renewLease(tx: Transaction, fence: Fence, leaseMs: number): SqlScript<void> {
  const { runId, key, owner, epoch } = yield* fencedRun(tx, fence);
  tx.write({ kind: "renew", runId, key, owner: owner ?? "", epoch, leaseMs });
}

/** Confirms that the run is still held, after other processes could not see that this one lives. */
export function* confirmLease(tx: Transaction, fence: Fence): SqlScript<void> {
  const { runId, key, owner, epoch, leaseMs } = yield* fencedRunRow(tx, fence);
  tx.write({ kind: "renew", runId, key, owner: owner ?? "", epoch, leaseMs });
}

export function* pinShape(tx: Transaction, fence: Fence, shape: Json): SqlScript<void> {
  const row = yield* fencedRunRow(tx, fence);
  changeRow(tx, row, "run_inputs", {}, { shape: canonicalJson(shape) });
  row.takesText = takesText(shape);
  saveRun(tx, row, "run.reshaped", {});
}

export function* releaseRun(tx: Transaction, fence: Fence, given: RunEnd): SqlScript<void> {
  const row = yield* rowToLeave(tx, fence);
  const lost = yield* lostEvents(tx.leases, row);
  // Whatever else the worker has to say is about a run that the database does not have.
  if (lost !== null && given.status !== "failed") throw lost;
  const { status, steps, waits } = decideRelease(given.status, row.cancelRequestedAt !== null);
  const end: RunEnd = status === given.status ? given : { status: "cancelled", error: null };
  const error = lost === null ? errorOf(end) : storedError(lost);
  yield* settleOpenCalls(tx, row, lost === null ? NOTHING_OPEN : ANYTHING);
  // A tool that was cancelled, or whose outcome could not be stored, may have done its work or may still be running.
  const { facts } = yield* leaveRunningCalls(tx, row, yield* leftOpen(tx.leases, row));
  const asked = end.status === "waiting" ? end.waits : [];
  const opened = yield* openWaits(tx, row, yield* unlessWritten(tx, row, asked));
  if (status === "failed") yield* supersedeCall(tx, row, error);
  if (waits === "withdrawn") yield* withdrawWaits(tx, row, null);
  if (steps !== "kept") yield* markRunningSteps(tx, row, steps, error);
  endAttempt(tx, row, status);
  row.status = status;
  freeLease(row);
  row.output = end.status === "succeeded" ? canonicalJson(end.output) : null;
  row.context = end.status === "succeeded" ? canonicalJson(end.context) : null;
  row.error = error === null ? null : canonicalJson(error);
  row.finalArtifact = yield* finalArtifact(row, end);
  if (status === "waiting") row.waitingSince = tx.now;
  endCancelRequest(row);
  if (status === "queued" || status === "waiting") yield* keepRequestLeft(row, status);
  else row.resumeRequest = null;
  // All waits may have been answered while the worker was stopping, and a message may be there already.
  const received = status === "waiting" ? yield* answerFromMailbox(tx, row) : [];
  if (asked.length > 0) yield* queueIfAnswered(tx, row);
  if (status !== "queued" && status !== "waiting") yield* returnMessages(tx, row);
  saveRun(tx, row, `run.${status}`, {
    ...(error === null ? {} : { code: error.code }),
    ...(row.finalArtifact === null ? {} : { finalArtifact: parseJson(row.finalArtifact) }),
    ...facts,
    ...(opened.length === 0 ? {} : { waits: opened }),
    ...(received.length === 0 ? {} : { received }),
  });
}

/** A conversation does not wait for a message that is there already: the run is queued instead. */
function* unlessWritten(
  tx: Transaction,
  row: RunRow,
  asked: readonly NewWait[],
): SqlScript<readonly NewWait[]> {
  if (!asked.some(isMailWait) || !(yield* hasText(row))) return asked;
  yield* withdrawMailWaits(tx, row);
  return asked.filter((wait) => !isMailWait(wait));
}

function errorOf(end: RunEnd): StoredError | null {
  return "error" in end ? end.error : null;
}

function storedError({ code, message, details }: StoreUnavailableError): StoredError {
  return { code, message, details };
}

/** The result of a run that succeeded, as it is now; null if it has no such artifact. */
function* finalArtifact(row: RunRow, end: RunEnd): SqlScript<string | null> {
  const name = end.status === "succeeded" ? (end.finalArtifact ?? null) : null;
  const hash = name === null ? null : yield* findArtifactHash(row.key, name);
  return hash === null ? null : canonicalJson({ name, hash });
}

/** A worker that releases its run has settled what it sent. */
const NOTHING_OPEN: AbandonedAttempts = { mayHaveSent: () => false, hasEnded: true };

const FAILED_CODE_CALL = `SELECT call_no FROM run_steps
    JOIN tool_calls USING (run_key, step_no) JOIN receipts USING (run_key, call_no)
   WHERE run_key = ? AND step_path = ? AND turn_index = 0 AND call_index = ?
     AND receipts.status = 'failed' AND receipts.source <> 'person'`;

/**
 * The failure of this call ended a code step whose code did not catch it. Reused on resume, its receipt would fail
 * the step forever, so a resumed step makes the same call again. A call that a person denied or settled as failed
 * stays so.
 */
function* supersedeCall(tx: Transaction, row: RunRow, error: StoredError | null): SqlScript<void> {
  const id = error?.code === "tool_failed" ? error.details.toolCallId : null;
  const place = typeof id === "string" ? parseToolCallId(id) : null;
  if (place?.runId !== row.runId || place.turnIndex !== CODE_STEP_TURN) return;
  const call = yield* get(FAILED_CODE_CALL, row.key, place.path, place.callIndex);
  if (call !== null) changeRow(tx, row, "tool_calls", { call_no: call.int("call_no") }, { superseded: 1 });
}
