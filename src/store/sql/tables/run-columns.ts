import type { RunStatus } from "../../store.ts";
import { digestOf } from "../digest.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { RUN_STATUSES } from "../stored-words.ts";
import type { RunKey } from "../table-list.ts";
import type { RowValues } from "../write.ts";
import { quotaOf } from "./run-quota.ts";

// The row of a run in memory, and its columns.

/** The whole row, for intents that change the status or the lease of the run. */
export type RunRow = RunHead & {
  status: RunStatus;
  currentStepNo: number | null;
  leaseUntil: number;
  leaseMs: number;
  /** True if this intent has given the run another lease: only then is it written, since renewals move no head. */
  isLeaseNew: boolean;
  /** Identifies the notes of what its owner sends; null if it writes none. */
  marks: string | null;
  deadline: number | null;
  budgets: string | null;
  waitingSince: number | null;
  /** When a queued run became ready, or will; null of a fork that was not started. */
  readyAt: number | null;
  /** True of a fork until a person starts it: no worker takes it. Stored as a queued run without `readyAt`. */
  isUnstarted: boolean;
  /** When the clock has something to do about it; null if never. */
  wakeAt: number | null;
  /** What workers were last asked to do about it: see `saveRun`. Not stored. */
  hint: string;
  /** How many workers in a row died in it without a commit. */
  stalls: number;
  /** The version of the worker that held it last. */
  workerVersion: string | null;
  cancelRequestedAt: number | null;
  cancelRequestedBy: string | null;
  /** Where it was moved to (`RunMove`); null if it lives here. */
  moved: string | null;
  output: string | null;
  context: string | null;
  error: string | null;
  finalArtifact: string | null;
  /** True if it has a conversation. */
  takesText: boolean;
  /** How a person wants it to be resumed (`RequestedResume`); null if nobody has asked, and once that is done. */
  resumeRequest: string | null;
  /** What the run began with; it never changes. */
  readonly origin: RunOrigin;
};

export type RunOrigin = {
  readonly createdAt: number;
  readonly pipeline: string;
  readonly entrypoint: string;
  readonly inputHash: Uint8Array;
  readonly forkedFrom: string | null;
  readonly startedBy: string | null;
  readonly queue: string;
  readonly concurrencyKey: string | null;
  readonly priority: number;
  readonly metadata: string | null;
};

type HeadFacts = Pick<
  RunHead,
  "key" | "runId" | "owner" | "epoch" | "quota" | "counts" | "eventSeq" | "eventHash"
>;

export function newHead(facts: HeadFacts): RunHead {
  return {
    ...facts,
    steps: new Map(),
    hasOpenWaits: null,
    hasUncertainCalls: null,
    sliceLengths: null,
    slicePieces: new Map(),
    covered: new Map(),
  };
}

export function runRow(row: Row): RunRow {
  const status = row.oneOf("status", RUN_STATUSES);
  const wakeAt = row.optionalInt("wake_at");
  const readyAt = row.optionalInt("ready_at");
  const isUnstarted = status === "queued" && readyAt === null;
  return {
    ...newHead({
      key: row.value("run_key") as RunKey,
      runId: row.text("run_id"),
      owner: row.optionalText("owner"),
      epoch: row.int("epoch"),
      quota: quotaOf(row),
      counts: {
        steps: row.int("steps"),
        calls: row.int("calls"),
        waits: row.int("waits"),
        checkpoints: row.int("checkpoints"),
        run_events: row.int("run_events"),
      },
      eventSeq: row.int("event_seq"),
      eventHash: row.bytes("event_hash"),
    }),
    status,
    currentStepNo: row.optionalInt("current_step_no"),
    leaseUntil: row.int("lease_until"),
    leaseMs: row.int("lease_ms"),
    isLeaseNew: false,
    marks: row.optionalText("marks"),
    deadline: row.optionalInt("deadline_at"),
    budgets: row.optionalText("budgets"),
    waitingSince: row.optionalInt("waiting_since"),
    readyAt,
    isUnstarted,
    wakeAt,
    hint: hintOf({ status, isUnstarted, wakeAt }),
    stalls: row.int("stalls"),
    workerVersion: row.optionalText("worker_version"),
    cancelRequestedAt: row.optionalInt("cancel_requested_at"),
    cancelRequestedBy: row.optionalText("cancel_requested_by"),
    moved: row.optionalText("moved"),
    output: row.optionalText("output"),
    context: row.optionalText("context"),
    error: row.optionalText("error"),
    finalArtifact: row.optionalText("final_artifact"),
    takesText: row.flag("takes_text"),
    resumeRequest: row.optionalText("resume_request"),
    origin: {
      createdAt: row.int("created_at"),
      pipeline: row.text("pipeline"),
      entrypoint: row.text("entrypoint"),
      inputHash: row.bytes("input_hash"),
      forkedFrom: row.optionalText("forked_from"),
      startedBy: row.optionalText("started_by"),
      queue: row.text("queue"),
      concurrencyKey: row.optionalText("concurrency_key"),
      priority: row.int("priority"),
      metadata: row.optionalText("metadata"),
    },
  };
}

/** When a worker has to look at a run, as a text: "" for never, and for a queued run also why. */
export function hintOf({
  status,
  isUnstarted,
  wakeAt,
}: Pick<RunRow, "status" | "isUnstarted" | "wakeAt">): string {
  if (status === "queued") return isUnstarted ? "" : `queued ${wakeAt ?? "now"}`;
  return status === "waiting" && wakeAt !== null ? `waiting ${wakeAt}` : "";
}

/** The columns that change with every intent. */
export function headColumns({ quota: { charged, reserved }, counts }: RunHead): RowValues {
  return {
    charged_tokens: charged.tokens,
    charged_micro_dollars: charged.microDollars,
    reserved_tokens: reserved.tokens,
    reserved_micro_dollars: reserved.microDollars,
    ...counts,
  };
}

/** The same, as events record them. */
export function headFacts({ quota: { charged, reserved }, counts }: RunHead): number[] {
  return [
    charged.tokens,
    charged.microDollars,
    reserved.tokens,
    reserved.microDollars,
    counts.steps,
    counts.calls,
    counts.waits,
    counts.checkpoints,
    counts.run_events,
  ];
}

/** The columns that change with the status of the run. */
export function stateColumns(run: RunRow): RowValues {
  const { limit } = run.quota;
  return {
    status: run.status,
    current_step_no: run.currentStepNo,
    owner: run.owner,
    epoch: run.epoch,
    marks: run.marks,
    limit_tokens: limit.tokens,
    limit_micro_dollars: limit.microDollars,
    deadline_at: run.deadline,
    budgets: run.budgets,
    waiting_since: run.waitingSince,
    ready_at: run.readyAt,
    wake_at: run.wakeAt,
    stalls: run.stalls,
    worker_version: run.workerVersion,
    cancel_requested_at: run.cancelRequestedAt,
    cancel_requested_by: run.cancelRequestedBy,
    moved: run.moved,
    output: run.output,
    context: run.context,
    error: run.error,
    final_artifact: run.finalArtifact,
    takes_text: Number(run.takesText),
    resume_request: run.resumeRequest,
  };
}

/** Renewals change these without an event, so no digest covers them. */
export function leaseColumns({ leaseUntil, leaseMs }: RunRow): RowValues {
  return { lease_until: leaseUntil, lease_ms: leaseMs };
}

export function originColumns(origin: RunOrigin): RowValues {
  return {
    created_at: origin.createdAt,
    pipeline: origin.pipeline,
    entrypoint: origin.entrypoint,
    input_hash: origin.inputHash,
    forked_from: origin.forkedFrom,
    started_by: origin.startedBy,
    queue: origin.queue,
    concurrency_key: origin.concurrencyKey,
    priority: origin.priority,
    metadata: origin.metadata,
  };
}

/** The digest of a run's row, without what every intent changes and what renewals change. */
export function runRowDigest(run: RunRow): string {
  const columns = { ...originColumns(run.origin), ...stateColumns(run) };
  const { takes_text: takesText, resume_request: resumeRequest, ...covered } = columns;
  // Later columns only if they are set, so that the events of runs from before there were any still cover them.
  return digestOf([
    run.runId,
    ...Object.values(covered),
    ...(takesText === 1 ? ["takes_text"] : []),
    ...(resumeRequest === null ? [] : ["resume_request", run.resumeRequest]),
  ]);
}

/** The stored row of a run, as its events must have it. */
export function storedRunFacts(row: Row): { readonly digest: string; readonly head: string } {
  const run = runRow(row);
  return { digest: runRowDigest(run), head: String(headFacts(run)) };
}
