import type { Json } from "../core/json.ts";
import type { Person } from "../core/person.ts";
import type { Settlement } from "../core/wait.ts";
import type { WorkerRequest } from "./checkpoint-store.ts";
import type {
  AcceptedDivergence,
  BlobCollection,
  BlobRetention,
  CancelOutcome,
  Claim,
  ClaimOptions,
  ClaimOutcome,
  CodeToolCall,
  DroppedTurn,
  EffectAttempt,
  Fence,
  FinishedStep,
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
  TurnCommit,
  TurnJournal,
  TurnOpened,
  TurnOpening,
} from "./store-intents.ts";
import type { StoreReader } from "./store-reader.ts";
import type { ArtifactRecord, LoopDecision, NewStep, RunRecord, StepRecord } from "./store-records.ts";
import type { Attendance, EffectInProgress } from "./work-in-progress.ts";

export type { Authenticated, Decision, Person } from "../core/person.ts";
export type { WorkerRequest } from "./checkpoint-store.ts";
export type * from "./store-intents.ts";
export type * from "./store-reader.ts";
export type * from "./store-records.ts";
export type { Attendance, EffectInProgress } from "./work-in-progress.ts";

/**
 * What a store promises. Every method is an intent: atomic, durable before it resolves, and refused whole or done
 * whole. Every intent of a worker carries its fence and is refused with `LeaseLostError` once another worker has
 * taken the run, or the run was released; a `stepKey` in it has to be one of that run's. Every intent
 * appends one event to the run's log in the same transaction. A read sees one state, whatever is committed meanwhile.
 *
 * The contract is written for SQLite and PostgreSQL alike; `storeConformance` in `pawl/testing` checks it.
 */
export interface Store extends StoreReader {
  /** Creates the run and claims it for this process in one. `exists` if the id is taken: nothing changed. */
  createRun(
    run: NewRun,
  ): Promise<{ readonly kind: "created"; readonly claim: Claim } | { readonly kind: "exists" }>;

  /**
   * Takes the run: the epoch rises, and whatever an earlier owner still writes is refused. Model calls that it left
   * open are charged their whole reservation, once; but nothing where its process is proven dead and certainly had not
   * sent them. A run that this store itself holds is taken again only when its worker has left it and none of its effects
   * is under way.
   */
  claimRun(runId: string, options: ClaimOptions): Promise<ClaimOutcome>;

  /** Moves the end of the lease. Rejects with `LeaseLostError` when the run was taken by another. */
  renewLease(fence: Fence, leaseMs: number): Promise<void>;

  /**
   * Ends this worker's hold on the run, with the status it leaves it in. A reservation still open is given back:
   * the caller has settled what it dispatched. Steps still running become `failed` or `blocked` with it.
   */
  releaseRun(fence: Fence, end: RunEnd): Promise<void>;

  /**
   * Gives the run up in good order: it stays as it is, to be resumed at once. Model calls that were certainly not sent are
   * charged nothing and such tool calls are in no doubt; what is still under way is charged, and in doubt.
   */
  interruptRun(fence: Fence): Promise<void>;

  /**
   * Says, in memory alone, that a worker of this process is at the run, until it leaves. Closing the store waits for those
   * who attend, and a store takes no run again that is attended.
   */
  attend(fence: Fence): Attendance;

  /**
   * Right before a request goes out or a tool is entered: notes it where another process finds it should this one die, and
   * counts it as under way until it has ended. Rejects once the store is being closed; then it must not leave. The one call
   * of a worker that is no transaction, unless the note cannot be made: then that is committed first.
   */
  beginEffect(fence: Fence, effect: EffectAttempt): Promise<EffectInProgress>;

  /** Pins the pipeline's shape anew, for a worker that goes on with other steps after those the run has reached. */
  pinShape(fence: Fence, shape: Json): Promise<void>;

  /** Enters a step instance, or enters it again after a failure. */
  beginStep(fence: Fence, step: NewStep): Promise<StepRecord>;

  /** Stores the output of a step instance: it is never entered again. `checkpoint` is the number of the one it carries. */
  finishStep(fence: Fence, step: FinishedStep): Promise<{ readonly checkpoint: number | null }>;

  /** Keeps that a step was not needed: the run had come to all that was asked of it. */
  skipStep(fence: Fence, step: NewStep): Promise<void>;

  /** Stores whether a loop goes on after an iteration, and what the iteration came to. */
  decideLoop(fence: Fence, decision: LoopDecision): Promise<void>;

  /**
   * Reserves quota for one try at a turn's model call: durable before a byte is sent. The first one of a step also
   * pins the fingerprint. Refused while a try is open, and once the turn's response is journaled.
   */
  openTurn(fence: Fence, opening: TurnOpening): Promise<TurnOpened>;

  /** Ends one try that brought no response: charges it and gives the rest of its reservation back. Once per try. */
  settleModelCall(fence: Fence, settlement: ModelCallSettlement): Promise<void>;

  /** Commit 1: the response, its charge, and a ledger row for each tool call, before any tool runs. */
  journalResponse(fence: Fence, journal: TurnJournal): Promise<void>;

  /**
   * Moves calls to `running`, each try counted, before they are dispatched: calls that wait, are in doubt, or whose last
   * try has ended without a receipt. One that needs an approval is refused unless a person has approved just these
   * arguments of just this call. `ResumeError` (recoverable) where one has its receipt by now.
   */
  startToolCalls(fence: Fence, start: ToolCallStart): Promise<void>;

  /** A ledger row for a call that a code step makes. Resolves to its call index. */
  openToolCall(fence: Fence, call: CodeToolCall): Promise<number>;

  /**
   * Keeps what the outside system calls the last try of a call, under way or given up on, for the worker that finds it in
   * doubt: the last id counts. `ResumeError` (recoverable) where the call has its receipt by now.
   */
  correlateToolCall(fence: Fence, correlation: ToolCallCorrelation): Promise<void>;

  /** Keeps a try that ended without a receipt, once; the call may be in doubt from then on. */
  endToolCallAttempt(fence: Fence, end: ToolCallAttemptEnd): Promise<void>;

  /** Stores the outcome of a call, once. `ResumeError` (recoverable) where it has one. */
  recordReceipt(fence: Fence, record: ReceiptRecord): Promise<void>;

  /**
   * A receipt from a worker that has lost the run, so there is no fence: it settles the call if that very try is still
   * in doubt. Otherwise it is kept with the try, as evidence, and changes nothing.
   */
  offerLateReceipt(late: LateReceipt): Promise<"settled" | "kept">;

  /**
   * Commit 2, by compare-and-set on the turn index: `ResumeError` (recoverable) unless the turn is the next one.
   * Reserving for the next turn rides along; if the quota refuses that, the commit stands and `next` says so. So does
   * what changes in the session, and a checkpoint of it: `checkpoint` is its number.
   */
  commitTurn(
    fence: Fence,
    commit: TurnCommit,
  ): Promise<{ readonly next: TurnOpened | null; readonly checkpoint: number | null }>;

  /**
   * Begins a new line of history of a granular step, from a checkpoint: the session is as it was then, the history is
   * empty, the fingerprint is a new one, and turns are numbered on. A turn that is open is abandoned; refused while one
   * of its calls has no receipt. Resolves to the number of the first turn.
   */
  beginLineage(fence: Fence, lineage: NewLineage): Promise<number>;

  /** Pins another fingerprint to a step that has begun, and keeps why: its history goes on. */
  acceptDivergence(fence: Fence, accepted: AcceptedDivergence): Promise<void>;

  /** Keeps the W3C `traceparent` of this worker's span with its attempt, so that the next one goes on with its trace. */
  keepTrace(fence: Fence, traceParent: string): Promise<void>;

  /**
   * Drops the journaled response of a turn, so that the model is asked again; what it cost stays charged. Refused once one
   * of its calls was dispatched, or has a receipt.
   */
  dropTurn(fence: Fence, dropped: DroppedTurn): Promise<void>;

  /**
   * Makes a new run that goes on from a turn of another: it has the steps and turns up to it, with their receipts under keys
   * of its own. Refused while the first run is being worked on, or a call that would be copied has no receipt.
   */
  forkRun(fork: NewFork): Promise<RunRecord>;

  /**
   * Keeps what a worker is asked to do, unless it has something that it has not completed: resolves to what holds. There
   * need be no run of that id yet, so this is in no run's log.
   */
  beginWork(worker: string, request: WorkerRequest): Promise<WorkerRequest>;

  /** The worker has done what it was asked in this run. */
  completeWork(worker: string, runId: string): Promise<void>;

  /**
   * Lets a call run, with the arguments that the wait shows, once. Answering the last open wait of a run queues it.
   * `AlreadySettledError` where somebody was faster.
   */
  approve(waitId: string, person?: Person): Promise<void>;

  /** The call is not run; whoever asked for it is told why. */
  deny(waitId: string, why: string, person?: Person): Promise<void>;

  /** Answers a tool's question: the answer becomes the result of its call. */
  answer(waitId: string, value: Json, person?: Person): Promise<void>;

  /**
   * Says what became of a call in doubt, for good; with `retry`, lets it run again. Who and when are kept. There is one
   * answer to one doubt: `AlreadySettledError` until the call that may run again has been started and is in doubt again.
   */
  settle(toolCallId: string, settlement: Settlement, person?: Person): Promise<void>;

  /** Keeps something that the run has made, under its name: the bytes, their hash, and the step. Another of the same name is replaced. */
  keepArtifact(fence: Fence, artifact: NewArtifact): Promise<ArtifactRecord>;

  /**
   * Ends the run, where no living process has it: calls that were under way are in doubt, and open questions are
   * withdrawn. Where one has it, the wish is kept beside its status, for the worker to see.
   */
  requestCancel(runId: string, person?: Person): Promise<CancelOutcome>;

  /** Deletes blobs that only ended runs refer to, by age and by total size. What a live run refers to stays. */
  collectBlobs(policy: BlobRetention): Promise<BlobCollection>;

  /**
   * The key that digests of hidden values are made with: the same for every process, and kept apart from what it protects. One
   * that keeps nothing apart has it die with the process.
   */
  redactionKey(): Uint8Array;

  /**
   * Says goodbye: starts no further effect, awaits those under way and stores what they came to, then gives up the leases of
   * this store, so that its runs can be resumed at once. Effects that take longer than `graceMs` (5 s unless said) are left
   * in doubt; what they come to is still stored if the process lives to see it.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** A method of `Store` that is not a plain read. */
export type StoreIntent = Exclude<keyof Store, keyof StoreReader>;

/** As a record, so that the compiler refuses a name that is missing, extra or listed twice. */
const NAMES = {
  createRun: true,
  claimRun: true,
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
  redactionKey: true,
  close: true,
} as const satisfies { readonly [Name in StoreIntent]: true };

/** The names of all methods of `Store` that `StoreReader` does not have, in the order of the contract. */
export const STORE_INTENTS = Object.keys(NAMES) as readonly StoreIntent[];

/** True for the name of a method that is not a plain read. */
export function isStoreIntent(name: string | symbol): name is StoreIntent {
  return Object.hasOwn(NAMES, name);
}
