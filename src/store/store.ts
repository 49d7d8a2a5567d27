import type { Json } from "../core/json.ts";
import type { Person } from "../core/person.ts";
import type { Settlement } from "../core/wait.ts";
import type { AccessStore } from "./access/access-store.ts";
import type { BlobCollection, BlobRetention } from "./blob-collection.ts";
import type { WorkerRequest } from "./checkpoint-store.ts";
import type { ExchangeStore, QueueStore } from "./queue-store.ts";
import type { RetentionStore } from "./retention.ts";
import type { ScheduleStore } from "./schedule-store.ts";
import type {
  AcceptedDivergence,
  CancelOutcome,
  Claim,
  ClaimOptions,
  ClaimOutcome,
  CodeToolCall,
  DroppedTurn,
  EffectAttempt,
  Fence,
  FinishedStep,
  LateCheckpoint,
  LateReceipt,
  ModelCallSettlement,
  NewArtifact,
  NewFork,
  NewLineage,
  NewRun,
  ReceiptRecord,
  RunEnd,
  ToolCallAttemptEnd,
  ToolCallCorrelation,
  ToolCallStart,
  TurnJournal,
} from "./store-intents.ts";
import type { MovingStore } from "./store-moving.ts";
import type { StoreReader } from "./store-reader.ts";
import type { ArtifactRecord, LoopDecision, NewStep, RunRecord, StepRecord } from "./store-records.ts";
import type { TurnCommit, TurnCommitted, TurnOpened, TurnOpening } from "./turn-commits.ts";
import type { WebhookStore } from "./webhook/webhook-store.ts";
import type { Attendance, EffectInProgress } from "./work-in-progress.ts";

export type { Authenticated, Decision, Person } from "../core/person.ts";
export type { RequestedResume, ResumeFrom, ResumeRequest } from "../core/run/resume-request.ts";
export type * from "./access/access-records.ts";
export type * from "./access/access-store.ts";
export type * from "./blob-collection.ts";
export type { WorkerRequest } from "./checkpoint-store.ts";
export type * from "./exchange/exchange-records.ts";
export type * from "./live-parts.ts";
export type * from "./queue-records.ts";
export type * from "./queue-store.ts";
export type * from "./report/database-report.ts";
export type * from "./retention.ts";
export type { OwnStatus, RunMove, RunStatus } from "./run-move.ts";
export type * from "./run-summary.ts";
export type * from "./run-usage.ts";
export type * from "./schedule-records.ts";
export type * from "./schedule-store.ts";
export type * from "./session-records.ts";
export type * from "./store-intents.ts";
export type * from "./store-moving.ts";
export type * from "./store-ranges.ts";
export type * from "./store-reader.ts";
export type * from "./store-records.ts";
export type * from "./turn-commits.ts";
export type * from "./webhook/webhook-records.ts";
export type * from "./webhook/webhook-store.ts";
export type { Attendance, EffectInProgress } from "./work-in-progress.ts";
export type * from "./worker-records.ts";

/**
 * The contract of a store. Every method is an intent: atomic, and durable before it resolves. A refused
 * intent changes nothing. Every intent of a worker carries its fence and is rejected with `LeaseLostError`
 * once another worker has claimed the run, or the run was released; its `stepKey` must belong to that run.
 * Every intent but a renewal and a deletion appends one event to the run's log in the same transaction. A read sees one consistent state,
 * whatever is committed meanwhile.
 *
 * The contract covers SQLite and PostgreSQL alike; `storeConformance` in `pawl/testing/store` checks it.
 */
export interface Store
  extends StoreReader,
    QueueStore,
    ExchangeStore,
    ScheduleStore,
    RetentionStore,
    MovingStore,
    AccessStore,
    WebhookStore {
  /**
   * Creates the run and claims it for this process, in one transaction. `exists` if the id is taken; then
   * nothing changes.
   */
  createRun(
    run: NewRun,
  ): Promise<{ readonly kind: "created"; readonly claim: Claim } | { readonly kind: "exists" }>;

  /**
   * Claims the run: its epoch rises, and later writes of an earlier owner are refused. Each model call that
   * the earlier owner left open is charged its whole reservation, once; it is charged nothing if that owner's
   * process is proven dead and certainly did not send it. A run held by this store is claimed again only
   * after its worker has left it and none of its effects is in progress.
   */
  claimRun(runId: string, options: ClaimOptions): Promise<ClaimOutcome>;

  /** Extends the lease. Rejects with `LeaseLostError` if another worker has claimed the run. */
  renewLease(fence: Fence, leaseMs: number): Promise<void>;

  /**
   * Ends this worker's hold on the run and stores its new status. An open reservation is returned: the caller
   * has already settled what it dispatched. Steps that are still running become `failed` or `blocked`.
   */
  releaseRun(fence: Fence, end: RunEnd): Promise<void>;

  /**
   * Gives the run up in good order: it keeps its status and can be resumed at once. Model calls that were
   * certainly not sent are charged nothing, and such tool calls are not in doubt. Model calls still in
   * progress are charged; tool calls still in progress are in doubt.
   */
  interruptRun(fence: Fence): Promise<void>;

  /**
   * Registers, in memory only, that a worker of this process is working on the run, until it leaves. Closing
   * the store waits for registered workers, and the store does not claim a run again while one is registered
   * for it.
   */
  attend(fence: Fence): Attendance;

  /**
   * Called right before a request is sent or a tool is invoked. Marks the effect where another process finds
   * it if this one dies, and counts it as in progress until it ends. Rejects once the store is closing; then
   * nothing may be sent. This is the only intent of a worker that is not a transaction, unless the mark
   * cannot be written: that fact is committed first.
   */
  beginEffect(fence: Fence, effect: EffectAttempt): Promise<EffectInProgress>;

  /**
   * Replaces the pinned shape of the pipeline, for a worker that resumes with different steps after those the
   * run has reached.
   */
  pinShape(fence: Fence, shape: Json): Promise<void>;

  /** Enters a step instance, or enters it again after a failure. */
  beginStep(fence: Fence, step: NewStep): Promise<StepRecord>;

  /**
   * Stores the output of a step instance, which is never entered again. `checkpoint` is the number of the
   * checkpoint taken with it.
   */
  finishStep(fence: Fence, step: FinishedStep): Promise<{ readonly checkpoint: number | null }>;

  /** Records that a step was not needed, because all stop conditions of the run held already. */
  skipStep(fence: Fence, step: NewStep): Promise<void>;

  /** Stores whether a loop continues after an iteration, and the output of the iteration. */
  decideLoop(fence: Fence, decision: LoopDecision): Promise<void>;

  /**
   * Reserves quota for one attempt of a turn's model call; durable before a byte is sent. The first one of a
   * step also pins the fingerprint. Refused while an attempt is open, and once the turn's response is
   * journaled. The same transaction takes the messages of a conversation's turn, and begins its exchange.
   */
  openTurn(fence: Fence, opening: TurnOpening): Promise<TurnOpened>;

  /** Ends an attempt that brought no response, once: charges it and returns the rest of its reservation. */
  settleModelCall(fence: Fence, settlement: ModelCallSettlement): Promise<void>;

  /** Commit 1: the response, its charge, and a ledger row for each tool call, before any tool runs. */
  journalResponse(fence: Fence, journal: TurnJournal): Promise<void>;

  /**
   * Moves calls to `running` and counts the attempt, before they are dispatched. A call may be prepared, in
   * doubt, or have a last attempt that ended without a receipt. A call that needs an approval is refused
   * unless a person approved exactly these arguments of this call. `ResumeError` (recoverable) if a call
   * already has its receipt.
   */
  startToolCalls(fence: Fence, start: ToolCallStart): Promise<void>;

  /** Adds a ledger row for a call made by a code step. Resolves to its call index. */
  openToolCall(fence: Fence, call: CodeToolCall): Promise<number>;

  /**
   * Stores the outside system's id for the last attempt of a call, whether it is running or was given up on,
   * for the worker that later finds the call in doubt. The last id counts. `ResumeError` (recoverable) if the
   * call already has its receipt.
   */
  correlateToolCall(fence: Fence, correlation: ToolCallCorrelation): Promise<void>;

  /** Records, once, an attempt that ended without a receipt; the call may be in doubt from then on. */
  endToolCallAttempt(fence: Fence, end: ToolCallAttemptEnd): Promise<void>;

  /** Stores the outcome of a call, once. `ResumeError` (recoverable) if it already has one. */
  recordReceipt(fence: Fence, record: ReceiptRecord): Promise<void>;

  /**
   * Offers a receipt from a worker that has lost the run, and so has no fence. It settles the call if exactly
   * that attempt is still in doubt. Otherwise it is kept with the attempt as evidence and changes nothing.
   */
  offerLateReceipt(late: LateReceipt): Promise<"settled" | "kept">;

  /**
   * Commit 2, by compare-and-set on the turn index: `ResumeError` (recoverable) unless the turn is the next
   * one. The same transaction can reserve for the next turn; if the quota denies that, the commit still holds
   * and `next` reports it. It also applies the session changes and can take a checkpoint, whose number is
   * `checkpoint`.
   */
  commitTurn(fence: Fence, commit: TurnCommit): Promise<TurnCommitted>;

  /**
   * Saves a checkpoint of the last committed turn of a step, after its commit. Refused once the session may have
   * changed since: when a further turn is committed, the step has ended, or a new lineage has begun. Resolves to its
   * number.
   */
  saveCheckpoint(fence: Fence, late: LateCheckpoint): Promise<number>;

  /**
   * Begins a new lineage of a granular step, from a checkpoint: the session is rolled back to it, the history
   * is empty, the fingerprint is new, and turn numbers continue. An open turn is abandoned; refused while one
   * of its calls has no receipt. Messages that were taken since that checkpoint wait again. Resolves to the number of the
   * first turn.
   */
  beginLineage(fence: Fence, lineage: NewLineage): Promise<number>;

  /** Pins another fingerprint to a step that has begun, and records the reason. Its history continues. */
  acceptDivergence(fence: Fence, accepted: AcceptedDivergence): Promise<void>;

  /**
   * Stores the W3C `traceparent` of this worker's span with its run attempt, so that the next worker
   * continues its trace.
   */
  keepTrace(fence: Fence, traceParent: string): Promise<void>;

  /**
   * Drops the journaled response of a turn, so that the model is asked again; its cost stays charged. Refused
   * once one of its calls was dispatched or has a receipt.
   */
  dropTurn(fence: Fence, dropped: DroppedTurn): Promise<void>;

  /**
   * Creates a run that continues from a turn of another run: it has the steps and turns up to it, with their
   * receipts under keys of its own. Refused while a worker holds the parent run, or if a call to be copied
   * has no receipt.
   */
  forkRun(fork: NewFork): Promise<RunRecord>;

  /**
   * Stores a worker's request, unless the worker has one that is not completed. Resolves to the request that
   * is in effect. The run need not exist yet, so this is in no run's log.
   */
  beginWork(worker: string, request: WorkerRequest): Promise<WorkerRequest>;

  /** Marks the worker's request for this run as completed. */
  completeWork(worker: string, runId: string): Promise<void>;

  /**
   * Approves a call, once, with the arguments that the wait shows. Answering the last open wait of a run
   * queues the run. `AlreadySettledError` if the wait is no longer open.
   */
  approve(waitId: string, person?: Person): Promise<void>;

  /** Denies a call: it is not run, and its caller gets the reason. */
  deny(waitId: string, why: string, person?: Person): Promise<void>;

  /** Answers a tool's question: the answer becomes the result of its call. */
  answer(waitId: string, value: Json, person?: Person): Promise<void>;

  /**
   * Settles a call in doubt, permanently; with `retry`, allows it to run again. The person and the time are
   * recorded. Each doubt takes one answer: `AlreadySettledError` until a call that may run again was started
   * and is in doubt again.
   */
  settle(toolCallId: string, settlement: Settlement, person?: Person): Promise<void>;

  /**
   * Stores an artifact of the run under its name: the bytes, their hash, and the step. An artifact of the
   * same name is replaced.
   */
  keepArtifact(fence: Fence, artifact: NewArtifact): Promise<ArtifactRecord>;

  /**
   * Cancels the run if no living process holds it: calls that were running are in doubt, and open waits are
   * withdrawn. If a process holds it, the request is stored for its worker to see.
   */
  requestCancel(runId: string, person?: Person): Promise<CancelOutcome>;

  /** Deletes blobs that only ended runs refer to, by age and by total size. Blobs of a live run stay. */
  collectBlobs(policy: BlobRetention): Promise<BlobCollection>;

  /**
   * The key for digests of hidden values: the same for every process, and stored apart from the data it
   * protects. A store in memory has a key that dies with the process.
   */
  redactionKey(): Uint8Array;

  /**
   * Starts no further effect, waits for those in progress and stores their outcomes, then releases the leases
   * of this store, so that its runs can be resumed at once. Effects that take longer than `graceMs` (default
   * 5 s) are left in doubt; their outcomes are still stored if the process lives that long.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** A method of `Store` that is not a plain read. */
export type StoreIntent = Exclude<keyof Store, keyof StoreReader>;

/** As a record, so that the compiler refuses a name that is missing, extra or listed twice. */
const NAMES = {
  createRun: true,
  enqueueRun: true,
  claimRun: true,
  wakeRun: true,
  sendMessage: true,
  withdrawMessage: true,
  endExchange: true,
  openSummary: true,
  compactHistory: true,
  requestStop: true,
  requestResume: true,
  reportWorker: true,
  forgetWorker: true,
  deleteRun: true,
  configureSchedules: true,
  fireSchedule: true,
  fireNow: true,
  pauseSchedule: true,
  resumeSchedule: true,
  grantAccess: true,
  redeemCode: true,
  revokeAccess: true,
  endSession: true,
  noteAccessUse: true,
  recordAudit: true,
  trimAudit: true,
  addWebhook: true,
  removeWebhook: true,
  rotateWebhook: true,
  testWebhook: true,
  sendAgain: true,
  recordDeliveries: true,
  claimDeliveries: true,
  endDelivery: true,
  renewLease: true,
  releaseRun: true,
  interruptRun: true,
  attend: true,
  beginEffect: true,
  pinShape: true,
  beginStep: true,
  finishStep: true,
  skipStep: true,
  decideLoop: true,
  openTurn: true,
  settleModelCall: true,
  journalResponse: true,
  startToolCalls: true,
  openToolCall: true,
  correlateToolCall: true,
  endToolCallAttempt: true,
  recordReceipt: true,
  offerLateReceipt: true,
  commitTurn: true,
  saveCheckpoint: true,
  beginLineage: true,
  acceptDivergence: true,
  keepTrace: true,
  dropTurn: true,
  forkRun: true,
  beginWork: true,
  completeWork: true,
  approve: true,
  deny: true,
  answer: true,
  settle: true,
  keepArtifact: true,
  requestCancel: true,
  collectBlobs: true,
  storeId: true,
  moveRun: true,
  beginArrival: true,
  dropArrivingRows: true,
  storeArrivingRows: true,
  finishArrival: true,
  redactionKey: true,
  close: true,
} as const satisfies { readonly [Name in StoreIntent]: true };

/** The names of all methods of `Store` that `StoreReader` does not have, in the order of the contract. */
export const STORE_INTENTS = Object.keys(NAMES) as readonly StoreIntent[];

/** True for the name of a method that is not a plain read. */
export function isStoreIntent(name: string | symbol): name is StoreIntent {
  return Object.hasOwn(NAMES, name);
}
