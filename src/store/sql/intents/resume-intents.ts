import { canonicalJson } from "../../../core/canonical-json.ts";
import { isJsonObject, type JsonObject, withoutUndefined } from "../../../core/json.ts";
import { type Decision, decisionJson, decisionOf, type Person, personFacts } from "../../../core/person.ts";
import {
  decideResume,
  RESUME_STEPS,
  releasedResume,
  resumeLeft,
  takenResume,
} from "../../../core/run/resume-decision.ts";
import {
  assertBudgetRaised,
  type RequestedResume,
  type ResumeRequest,
  type ResumeWork,
  readResumeRequest,
} from "../../../core/run/resume-request.ts";
import type { StoredError } from "../../../core/stored-error.ts";
import type { AttemptReason, ClaimOptions, ResumeOutcome } from "../../store.ts";
import { all, type SqlScript } from "../script.ts";
import { leftOpen } from "../tables/fence.ts";
import { restoreMessages } from "../tables/message-rows.ts";
import { endWaiting } from "../tables/run-budgets.ts";
import { readPartsOfRecord, requestedResume, requireRecord, savedRecord } from "../tables/run-record.ts";
import { parseJson, type RunRow, requireRun, saveRun } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";
import { assertOpenPart } from "../verify/verify-open.ts";
import { leaveRunningCalls } from "./in-doubt.ts";
import { markRunningSteps, settleOpenCalls } from "./left-open.ts";
import { endCancelRequest, freeLease } from "./run-interruption.ts";

type CheckedRequest = ReturnType<typeof readResumeRequest>;

export function* requestResume(
  tx: Transaction,
  runId: string,
  given: ResumeRequest,
  person: Person,
): SqlScript<ResumeOutcome> {
  const by = decisionOf(person, tx.now);
  const request = readResumeRequest(given);
  const row = yield* requireRun(runId);
  const isHeld = tx.leases.isHeld(row, tx.now);
  const { kind } = decideResume({ status: row.status, isHeld, seq: row.eventSeq }, request.ifSeq);
  switch (kind) {
    case "over":
      return { kind, run: yield* requireRecord(runId) };
    case "changed":
      return { kind, run: yield* requireRecord(runId), seq: row.eventSeq };
    case "busy":
      return busy(tx, row);
    case "requested": {
      if (row.owner !== null && !(yield* tx.mayTakeFrom(row.owner))) return busy(tx, row);
      yield* assertOpenPart(row);
      assertBudgetRaised(parseJson(row.error) as StoredError | null, request.allowance.budgets);
      const parts = yield* readPartsOfRecord(row);
      yield* queueWith(tx, row, request, by);
      return { kind, run: savedRecord(tx, row, parts) };
    }
  }
}

function busy(tx: Transaction, row: RunRow): ResumeOutcome {
  return { kind: "busy", owner: row.owner ?? "", until: tx.leases.endOf(row, tx.now) };
}

/** Puts the run into the queue with the request. What had stopped it, but for open waits, no longer does. */
function* queueWith(
  tx: Transaction,
  row: RunRow,
  { work, allowance, reason }: CheckedRequest,
  by: Decision,
): SqlScript<void> {
  const left = row.status === "running" ? yield* leaveDead(tx, row) : {};
  const restored = row.status === "failed" ? yield* restoreMessages(tx, row) : [];
  const why = reasoned(row, { resumedFrom: "turn", reason }).reason ?? row.status;
  const resume = { ...work, changesHash: work.changesHash ?? shownChanges(row, work) };
  const request: RequestedResume = { ...resume, allowance, reason: why, by, takenSeq: null };
  row.resumeRequest = requestText(request);
  endWaiting(row, tx.now);
  endCancelRequest(row);
  // It is ready now, also if it was queued for later.
  if (row.wakeAt !== null) row.readyAt = null;
  row.wakeAt = null;
  row.isUnstarted = false;
  // A person wants another worker to try, however many have died in it.
  row.stalls = 0;
  row.status = "queued";
  saveRun(tx, row, "run.resume_requested", {
    ...personFacts(by),
    ...resume,
    ...allowance,
    reason: why,
    ...left,
    ...(restored.length === 0 ? {} : { messages: [...restored] }),
  });
}

/** The changes that the run failed with, if they are accepted: they are what the person has seen. */
function shownChanges({ status, error }: RunRow, { acceptDivergence }: ResumeWork): string | null {
  if (status !== "failed" || acceptDivergence === null) return null;
  const { details } = parseJson(error) as StoredError;
  return typeof details.changesHash === "string" ? details.changesHash : null;
}

/** Settles what a dead worker left, as a new owner would; should it live after all, it no longer has the run. */
function* leaveDead(tx: Transaction, row: RunRow): SqlScript<JsonObject> {
  const left = yield* leftOpen(tx.leases, row);
  yield* settleOpenCalls(tx, row, left);
  const { facts } = yield* leaveRunningCalls(tx, row, left);
  yield* markRunningSteps(tx, row, "ready", null);
  row.epoch += 1;
  freeLease(row);
  return facts;
}

/** Why a worker begins another attempt of the run: the given reason, or what had stopped it. */
export function reasoned(
  { status, error }: Pick<RunRow, "status" | "error">,
  { resumedFrom, reason }: AttemptReason,
): AttemptReason {
  if (reason !== null) return { resumedFrom, reason };
  if (status === "running") return { resumedFrom, reason: "interrupted" };
  const stored = parseJson(error);
  const code = isJsonObject(stored) && typeof stored.code === "string" ? stored.code : null;
  return { resumedFrom, reason: code === null ? status : `${status}: ${code}` };
}

/**
 * The options of a claim, with what the run's resume request asks for. The row has what is left of the request: it is the
 * claiming worker's to do.
 */
export function* withRequest(row: RunRow, options: ClaimOptions): SqlScript<ClaimOptions> {
  const { replacesRequest = false } = options;
  const left = replacesRequest ? null : yield* requestLeft(row);
  row.resumeRequest = left === null ? null : requestText(takenResume(left, row.eventSeq + 1));
  if (left === null) return options;
  const resumedFrom = left.from === "turn" ? "turn" : "milestone";
  // A worker that takes it after another one has died records that.
  const reason = left.takenSeq === null ? left.reason : null;
  return { ...options, ...left.allowance, attempt: { resumedFrom, reason } };
}

/** A worker leaves the run in good order, and it may be claimed again: it keeps what is left of its resume request. */
export function* keepRequestLeft(row: RunRow, status: "queued" | "waiting"): SqlScript<void> {
  const left = yield* requestLeft(row);
  row.resumeRequest = left === null ? null : requestText(releasedResume(left, status));
}

const STEPS_SINCE = `SELECT DISTINCT type FROM events
  WHERE run_key = ? AND seq > ? AND type IN (${RESUME_STEPS.map(() => "?").join(", ")})`;

function* requestLeft(row: RunRow): SqlScript<RequestedResume | null> {
  const request = requestedResume(row.resumeRequest);
  if (request === null || request.takenSeq === null) return request;
  const steps = yield* all(STEPS_SINCE, row.key, request.takenSeq, ...RESUME_STEPS);
  return resumeLeft(
    request,
    steps.map((step) => step.text("type")),
  );
}

function requestText({ by, ...request }: RequestedResume): string {
  return canonicalJson(withoutUndefined({ ...request, by: decisionJson(by) }));
}
