import { shownStatus } from "../../account/run-status.ts";
import { isoTime } from "../../export/figures.ts";
import type { RunSummary } from "../../store/store.ts";

/** A run in a list, with the status that it has for people at this time. */
export function runHeadDocument(run: RunSummary, now: number) {
  const { runId, pipeline, queue, eventSeq, epoch, owner, stalls, currentStep, objective, metadata } = run;
  const { charged, reserved, limit, toolCalls, failedCalls, callsInDoubt, openWaits, firstWait } = run;
  const { errorCode, errorMessage, startedBy, forkedFrom } = run;
  return {
    runId,
    pipeline,
    queue,
    status: shownStatus(run, now),
    createdAt: isoTime(run.createdAt),
    updatedAt: isoTime(run.updatedAt),
    eventSeq,
    life: epoch,
    owner,
    leaseUntil: owner === null ? null : isoTime(run.leaseUntil),
    readyAt: isoTime(run.readyAt),
    wakeAt: isoTime(run.wakeAt),
    stalls,
    currentStep,
    objective,
    metadata,
    charged,
    reserved,
    limit,
    toolCalls,
    failedCalls,
    callsInDoubt,
    openWaits,
    firstWait,
    errorCode,
    errorMessage,
    startedBy,
    forkedFrom,
  };
}
