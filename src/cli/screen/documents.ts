import type {
  ArtifactRecord,
  AttemptRecord,
  CheckpointRecord,
  EventRecord,
  LineageRecord,
  RunRecord,
  RunSummary,
  StepRecord,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../../store/store.ts";
import { isoTime } from "./format.ts";
import { isInterrupted } from "./run-status.ts";

// The records as `--json` prints them: times in ISO 8601, hashes as text, without the store's internal fields.

export function runDocument(run: RunRecord, now: number): object {
  const { inputHash, context: _, epoch: _epoch, ...rest } = run;
  return {
    ...rest,
    isInterrupted: isInterrupted(run, now),
    inputHash: Buffer.from(inputHash).toString("hex"),
    createdAt: isoTime(run.createdAt),
    updatedAt: isoTime(run.updatedAt),
    leaseUntil: run.owner === null ? null : isoTime(run.leaseUntil),
    deadline: isoTime(run.deadline),
    cancelRequestedAt: isoTime(run.cancelRequestedAt),
    readyAt: isoTime(run.readyAt),
    wakeAt: isoTime(run.wakeAt),
  };
}

export function summaryDocument(run: RunSummary, now: number): object {
  return {
    ...run,
    isInterrupted: isInterrupted(run, now),
    createdAt: isoTime(run.createdAt),
    updatedAt: isoTime(run.updatedAt),
    readyAt: isoTime(run.readyAt),
    wakeAt: isoTime(run.wakeAt),
    leaseUntil: run.owner === null ? null : isoTime(run.leaseUntil),
  };
}

export function stepDocument({ stepKey: _, context: _context, ...step }: StepRecord): object {
  return { ...step, createdAt: isoTime(step.createdAt), updatedAt: isoTime(step.updatedAt) };
}

export function turnDocument({ calls, ...turn }: TurnRecord): object {
  return { ...turn, calls: calls.map(({ toolCallId }) => toolCallId), at: isoTime(turn.at) };
}

export function callDocument(call: ToolCallRecord): object {
  const { receipt } = call;
  return {
    ...call,
    receipt: receipt === null ? null : { ...receipt, at: isoTime(receipt.at) },
    createdAt: isoTime(call.createdAt),
    startedAt: isoTime(call.startedAt),
    endsBy: isoTime(call.endsBy),
  };
}

export function waitDocument(wait: WaitRecord): object {
  return { ...wait, createdAt: isoTime(wait.createdAt), answeredAt: isoTime(wait.answeredAt) };
}

export function artifactDocument(artifact: ArtifactRecord): object {
  return { ...artifact, at: isoTime(artifact.at) };
}

export function checkpointDocument(checkpoint: CheckpointRecord): object {
  return { ...checkpoint, at: isoTime(checkpoint.at) };
}

export function lineageDocument(lineage: LineageRecord): object {
  return { ...lineage, at: isoTime(lineage.at) };
}

export function attemptDocument(attempt: AttemptRecord): object {
  return { ...attempt, startedAt: isoTime(attempt.startedAt), endedAt: isoTime(attempt.endedAt) };
}

export function eventDocument(event: EventRecord): object {
  return { ...event, at: isoTime(event.at) };
}
