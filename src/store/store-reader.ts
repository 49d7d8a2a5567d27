import type { Json } from "../core/json.ts";
import type { Message } from "../core/message.ts";
import type { StepPath } from "../core/step-path.ts";
import type { ResultLimits } from "../core/usage/result-share.ts";
import type { AccessReader } from "./access/access-store.ts";
import type { ExchangeRange, ExchangeRecord, Mailbox, RunRequestsSeen } from "./exchange/exchange-records.ts";
import type { LiveParts } from "./live-parts.ts";
import type {
  AbandonedRun,
  MessageRange,
  MessageRecord,
  QueueDepth,
  ReadyQuery,
  ReadyRun,
  SleepingRun,
} from "./queue-records.ts";
import type { DatabaseReport } from "./report/database-report.ts";
import type { EndedQuery, EndedRun, Tombstone, TombstoneRange } from "./retention.ts";
import type {
  ErrorGroup,
  ErrorQuery,
  RunChangeQuery,
  RunChanges,
  RunCounts,
  RunFilter,
  RunScope,
  RunSummary,
  ToolErrors,
} from "./run-summary.ts";
import type { CostlyQuery, RunNearBudget, RunUsage, SpendBucket, SpendQuery } from "./run-usage.ts";
import type { DueSchedule, FiringRecord, ScheduleRecord } from "./schedule-records.ts";
import type { CheckpointRecord, CheckpointSnapshot, StoredSlice } from "./session-records.ts";
import type { BundlePart, BundlePosition } from "./store-moving.ts";
import type {
  AnsweredWaitRange,
  CheckpointRange,
  EventRange,
  ModelCallRange,
  OpenWaitRange,
  StepRange,
  ToolCallAttemptRange,
  ToolCallRange,
  TurnRange,
  WaitRange,
} from "./store-ranges.ts";
import type {
  ArtifactRecord,
  AttemptRecord,
  Conversation,
  EventRecord,
  GranularState,
  LeftBehind,
  LineageRecord,
  LoopDecision,
  ModelCallRecord,
  RunOfInput,
  RunRecord,
  StepRecord,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
  Verification,
  WaitRecord,
  WorkRecord,
} from "./store-records.ts";
import type { WebhookReader } from "./webhook/webhook-store.ts";
import type { ActivityQuery, LiveWorker, QueueActivity } from "./worker-records.ts";

/** The database of a store. */
export type StoreDescription = {
  readonly database: "sqlite" | "postgres";
  readonly schemaVersion: number;
  /** Of its tables and indexes. */
  readonly sizeBytes: number;
  /** Of the log beside the database file; null if it has none. */
  readonly logBytes: number | null;
};

/**
 * The reads of a store, for the runner, the command line and the dashboard. A list that grows with a run can
 * be read in parts, so that a reader of a long run holds one part at a time. Each part is one consistent
 * state; later parts may be newer.
 */
export interface StoreReader extends AccessReader, WebhookReader {
  /** The answers that are being written now. A store need not have them: then nobody sees an answer before it is whole. */
  readonly live?: LiveParts;
  /** The number of the last event of each of these runs, without those that do not exist. For viewers, which ask often. */
  readProgress(runIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Changes with every commit to the store, of any process; null if that is not known without a query. */
  commitsSeen(): number | null;
  getRun(runId: string): Promise<RunRecord | null>;
  /** Newest first. */
  listRuns(filter?: RunFilter): Promise<readonly RunRecord[]>;
  /** The same runs, without what may be large: input, contract, output and context. For lists that people read. */
  listRunSummaries(filter?: RunFilter): Promise<readonly RunSummary[]>;
  /** How many runs of the filter there are, by status: exactly for all runs, else up to 10,000 of each. */
  countRuns(filter?: RunFilter): Promise<RunCounts>;
  /** The summary of one run; null if there is none of this id. */
  readRunHead(runId: string): Promise<RunSummary | null>;
  /**
   * The runs that have changed since a cursor: a feed for one poller in a process, which misses no commit. Ask first, and
   * read your lists then: a list may already have what the next answer brings again, so keep the summary with the higher
   * `eventSeq`. A renewal of a lease is no change, and neither is time: read the head of a running run again when its lease
   * has expired. A run that was deleted is not in it: see `listTombstones`.
   */
  listChangedRuns(query: RunChangeQuery): Promise<RunChanges>;
  /** Runs that are ready for a worker, in the order in which they are to be claimed. */
  listReady(query: ReadyQuery): Promise<readonly ReadyRun[]>;
  /** How many runs wait for a worker, by queue and pipeline. Reads all of them: for people, and for metrics. */
  countReady(): Promise<readonly QueueDepth[]>;
  /** Runs for which the clock has something to do, the first one first. */
  listSleeping(options: { readonly limit: number }): Promise<readonly SleepingRun[]>;
  /** The workers that have reported, the one that began first at first. One that died is listed for a minute, or longer if no other is there. */
  listWorkers(): Promise<readonly LiveWorker[]>;
  /** The activity of the store: counts, and at most `limit` of the runs that workers hold and of the waits that ask people. */
  readActivity(query: ActivityQuery): Promise<QueueActivity>;
  /** What model calls cost over time, from an index of all of them: for people, who ask seldom. Deleted runs are not in it. */
  readSpend(query: SpendQuery): Promise<readonly SpendBucket[]>;
  /** The runs created since then that have cost most, the dearest first. Looks at all of them. */
  listCostlyRuns(query: CostlyQuery): Promise<readonly RunSummary[]>;
  /** The unfinished runs that have used 80 % of a budget or more, the fullest first. Looks at the newest 10,000 with a budget. */
  listRunsNearBudget(query: RunScope & { readonly limit: number }): Promise<readonly RunNearBudget[]>;
  /** The runs that failed since then, grouped by pipeline, code and step; the largest group first. Looks at the last 10,000. */
  listErrors(query: ErrorQuery): Promise<readonly ErrorGroup[]>;
  /** The tools with calls that failed, those of the most runs first. Takes as long as there are such calls: keep the answer. */
  listToolErrors(scope?: RunScope): Promise<readonly ToolErrors[]>;
  /** Which database it is, and how large. */
  describeStore(): Promise<StoreDescription>;
  /** What checks of the installation look at: the file of the database, or its server. For people who operate it. */
  inspectDatabase(): Promise<DatabaseReport>;
  /** Runs that a worker left without releasing them: no living process holds them. */
  listAbandoned(): Promise<readonly AbandonedRun[]>;
  /**
   * Calls back when a run may have become ready, here or in another process: a hint, which may come late, or without a
   * reason, or not at all. `onNotice` gets the reason why the store does not use all that could wake workers. Resolves to a
   * function that ends it.
   */
  watchReady(listener: () => void, onNotice?: (reason: string) => void): Promise<() => void>;
  /** The messages to a run, in order. */
  listMessages(runId: string, range?: MessageRange): Promise<readonly MessageRecord[]>;
  /** The exchanges of the run's conversations, step by step, in order. */
  listExchanges(runId: string, range?: ExchangeRange): Promise<readonly ExchangeRecord[]>;
  /** What the next turn of a conversation depends on. */
  readMailbox(runId: string, stepKey: number): Promise<Mailbox>;
  /** What others have asked of the worker that holds the run. */
  readRequests(runId: string): Promise<RunRequestsSeen>;
  /** The run that is reached by this address; null if there is none. */
  findAddress(address: string): Promise<string | null>;
  /** Runs that have ended and can be deleted, the one that ended first at first. */
  listEndedRuns(query: EndedQuery): Promise<readonly EndedRun[]>;
  /** What is left of a deleted run; null if no run of this id was deleted. */
  getTombstone(runId: string): Promise<Tombstone | null>;
  /** What is left of deleted runs, the one that was deleted last at first. */
  listTombstones(range?: TombstoneRange): Promise<readonly Tombstone[]>;
  /** Every schedule by name, those that were removed too. */
  listSchedules(): Promise<readonly ScheduleRecord[]>;
  /** What became of the planned times of a schedule, the newest first. The store keeps the last 1,000 of each. */
  listFirings(name: string, range?: { readonly limit?: number }): Promise<readonly FiringRecord[]>;
  /** The schedules that fire next, the first one first, without those that are paused. */
  listDueSchedules(options: { readonly limit: number }): Promise<readonly DueSchedule[]>;
  /** True if a living process holds the run. */
  isHeld(runId: string): Promise<boolean>;
  /**
   * The runs of this pipeline and input that have not ended or were moved away, plus the newest run of all; newest
   * first, each with whether a living process holds it. Forks are not listed: a fork is resumed by its id only.
   */
  findRunsOf(pipeline: string, inputHash: Uint8Array): Promise<readonly RunOfInput[]>;
  /** The run's input and pinned shape, as given. */
  readRunInput(
    runId: string,
  ): Promise<{ readonly input: Json; readonly shape: Json; readonly callContext: Json }>;
  readUsage(runId: string): Promise<RunUsage>;
  /** What claiming the run now would do about the work its worker left open. */
  readLeftBehind(runId: string): Promise<LeftBehind>;

  listSteps(runId: string, range?: StepRange): Promise<readonly StepRecord[]>;
  findStep(runId: string, path: StepPath): Promise<StepRecord | null>;
  listLoopDecisions(runId: string, stepKey: number): Promise<readonly LoopDecision[]>;

  /**
   * The input of the next turn, read backwards from the last commit until it exceeds `tailTokens`; not the
   * whole history. Only the share of a turn's results that `shareOut` allows within `limits` counts; by
   * default all of them.
   */
  readConversation(
    runId: string,
    stepKey: number,
    tailTokens: number,
    limits?: ResultLimits,
  ): Promise<Conversation>;
  listTurns(runId: string, range?: TurnRange): Promise<readonly TurnRecord[]>;
  listModelCalls(runId: string, range?: ModelCallRange): Promise<readonly ModelCallRecord[]>;
  /** Step by step, in call order. Calls of a code step have turn index 0. */
  listToolCalls(runId: string, range?: ToolCallRange): Promise<readonly ToolCallRecord[]>;
  /** The calls made by the code of a step, in order. */
  listCodeStepCalls(runId: string, stepKey: number): Promise<readonly ToolCallRecord[]>;
  /** The attempts that brought no receipt, in the order of their calls. */
  listToolCallAttempts(runId: string, range?: ToolCallAttemptRange): Promise<readonly ToolCallAttempt[]>;
  /** True if a call of the run has failed but may have happened anyway. */
  hasUncertainCalls(runId: string): Promise<boolean>;
  /** The newest uncertain call of this identity, unless a call of the same identity has succeeded since. */
  findUncertainCall(runId: string, identityHash: Uint8Array): Promise<ToolCallRecord | null>;
  findToolCall(runId: string, idempotencyKey: Uint8Array): Promise<ToolCallRecord | null>;
  getToolCall(toolCallId: string): Promise<ToolCallRecord | null>;
  /** True if the ledger of the run has a call with this key. */
  hasToolCall(runId: string, idempotencyKey: Uint8Array): Promise<boolean>;

  /**
   * The whole stored history of a granular step, with large results as references. Takes a step path or a
   * plain step name.
   */
  readHistory(runId: string, stepName: string): Promise<readonly Message[]>;
  readGranularState(runId: string, stepName: string): Promise<GranularState | null>;
  /** The bytes of a blob that this run refers to; null if it was deleted or never belonged to this run. */
  readBlob(runId: string, blobId: string): Promise<Uint8Array | null>;
  listEvents(runId: string, options?: EventRange): Promise<readonly EventRecord[]>;
  /** The run's session: its slices by name, each with all of its values. */
  readSession(runId: string): Promise<readonly StoredSlice[]>;
  /** True if the current session includes the events of this call. */
  isApplied(runId: string, toolCallId: string): Promise<boolean>;
  /** True if the session included them and was rolled back since; its logs still have them. */
  isForgotten(runId: string, toolCallId: string): Promise<boolean>;
  listCheckpoints(runId: string, range?: CheckpointRange): Promise<readonly CheckpointRecord[]>;
  /** A checkpoint with its snapshot: the one of this number, or the latest that no rollback has superseded. */
  readCheckpoint(runId: string, checkpoint?: number): Promise<CheckpointSnapshot | null>;
  /** The checkpoint that `readCheckpoint(runId)` has, without its snapshot: a resume from the last milestone begins with it. */
  findMilestone(runId: string): Promise<CheckpointRecord | null>;
  listLineages(runId: string): Promise<readonly LineageRecord[]>;
  /** The run attempts: each time a worker claimed the run, and why. */
  listAttempts(runId: string): Promise<readonly AttemptRecord[]>;
  /** A worker's latest request, and whether it is completed. */
  findWork(worker: string): Promise<WorkRecord | null>;
  /** The waits of a run in order, answered or not. */
  listWaits(runId: string, range?: WaitRange): Promise<readonly WaitRecord[]>;
  /** The open waits of all runs, oldest first. */
  listOpenWaits(range?: OpenWaitRange): Promise<readonly WaitRecord[]>;
  /** What people have answered, newest first. */
  listAnsweredWaits(range: AnsweredWaitRange): Promise<readonly WaitRecord[]>;
  /** True if someone asked to cancel the run. */
  isCancelRequested(runId: string): Promise<boolean>;
  /** The artifacts of the run, by name. */
  listArtifacts(runId: string): Promise<readonly ArtifactRecord[]>;
  /** The bytes of an artifact; null if there is none of that name, or its blob was collected. */
  readArtifact(runId: string, name: string): Promise<Uint8Array | null>;
  /** The number of step instances and tool calls that the run performed itself, without those a fork started with. */
  countWork(runId: string): Promise<{ readonly steps: number; readonly toolCalls: number }>;
  /** A part of a run that was moved away, as rows for a bundle: the first one, or the one at `next` of the part before. */
  readMovedRows(runId: string, from?: BundlePosition): Promise<BundlePart>;
  /**
   * True if the path leads to one of the store's own files, which no other code may open, replace or move.
   * Opens nothing.
   */
  isOwnFile(path: string): Promise<boolean>;
  /** The problems of the database itself, as sentences; empty if there are none. Reads the whole database. */
  checkIntegrity(): Promise<readonly string[]>;
  /** Checks that the run's events, receipts and blobs are what was written, and names each row that is not. */
  verify(runId: string): Promise<Verification>;
}
