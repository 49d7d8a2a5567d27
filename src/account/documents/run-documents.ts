import { isoTime } from "../../export/figures.ts";
import type {
  ArtifactRecord,
  AttemptRecord,
  CheckpointRecord,
  EventRecord,
  LineageRecord,
  RunRecord,
  RunSummary,
  StepRecord,
} from "../../store/store.ts";
import type { WithIsoTimes } from "../iso-times.ts";
import { isInterrupted } from "../run-status.ts";

// The records of a run as the command line and the HTTP API show them: times in ISO 8601, hashes in hex, money in
// micro-dollars, without the store's internal fields. Times inside of stored values are as they were stored.

type RunTimeName = "createdAt" | "updatedAt" | "deadline" | "cancelRequestedAt" | "readyAt" | "wakeAt";

/** A run. */
export type RunDocument = WithIsoTimes<
  Omit<RunRecord, "inputHash" | "context" | "epoch" | "leaseUntil">,
  RunTimeName
> & {
  /** Its status is `running`, and no worker holds it. */
  readonly isInterrupted: boolean;
  readonly inputHash: string;
  /** Null if no worker holds it. */
  readonly leaseUntil: string | null;
};

export function runDocument(run: RunRecord, now: number): RunDocument {
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

/** A run in a list. */
export type RunHeadDocument = WithIsoTimes<
  Omit<RunSummary, "leaseUntil">,
  "createdAt" | "updatedAt" | "readyAt" | "wakeAt"
> & {
  readonly isInterrupted: boolean;
  readonly leaseUntil: string | null;
};

export function runHeadDocument(run: RunSummary, now: number): RunHeadDocument {
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

/** A step of a run. */
export type StepDocument = WithIsoTimes<Omit<StepRecord, "stepKey" | "context">, "createdAt" | "updatedAt">;

export function stepDocument({ stepKey: _, context: _context, ...step }: StepRecord): StepDocument {
  return { ...step, createdAt: isoTime(step.createdAt), updatedAt: isoTime(step.updatedAt) };
}

/** One time that a worker claimed the run. */
export type AttemptDocument = WithIsoTimes<AttemptRecord, "startedAt" | "endedAt">;

export function attemptDocument(attempt: AttemptRecord): AttemptDocument {
  return { ...attempt, startedAt: isoTime(attempt.startedAt), endedAt: isoTime(attempt.endedAt) };
}

/** A lineage of a step after its first one. */
export type LineageDocument = WithIsoTimes<LineageRecord, "at">;

export function lineageDocument(lineage: LineageRecord): LineageDocument {
  return { ...lineage, at: isoTime(lineage.at) };
}

/** A checkpoint without its snapshot. */
export type CheckpointDocument = WithIsoTimes<CheckpointRecord, "at">;

export function checkpointDocument(checkpoint: CheckpointRecord): CheckpointDocument {
  return { ...checkpoint, at: isoTime(checkpoint.at) };
}

/** Something that the run has made. */
export type ArtifactDocument = WithIsoTimes<ArtifactRecord, "at">;

export function artifactDocument(artifact: ArtifactRecord): ArtifactDocument {
  return { ...artifact, at: isoTime(artifact.at) };
}

/** An event of the run's log. */
export type EventDocument = WithIsoTimes<EventRecord, "at">;

export function eventDocument(event: EventRecord): EventDocument {
  return { ...event, at: isoTime(event.at) };
}
