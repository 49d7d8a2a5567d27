import type { Json } from "../core/json.ts";
import type { Message } from "../core/message.ts";
import type { StepPath } from "../core/step-path.ts";
import type { ResultLimits } from "../core/usage/result-share.ts";
import type {
  ArtifactRecord,
  AttemptRecord,
  CheckpointRange,
  CheckpointRecord,
  CheckpointSnapshot,
  Conversation,
  EventRange,
  EventRecord,
  GranularState,
  LeftBehind,
  LineageRecord,
  LoopDecision,
  ModelCallRange,
  ModelCallRecord,
  RunFilter,
  RunOfInput,
  RunRecord,
  RunUsage,
  StepRange,
  StepRecord,
  StoredSlice,
  ToolCallAttempt,
  ToolCallAttemptRange,
  ToolCallRange,
  ToolCallRecord,
  TurnRange,
  TurnRecord,
  Verification,
  WaitRange,
  WaitRecord,
  WorkRecord,
} from "./store-records.ts";

/**
 * What everybody may read: the runner, the command line, the dashboard. A list that grows with a run can be read in parts, so
 * that a reader of a long run holds a part of it at a time. Each part is one state; those after it may be later ones.
 */
export interface StoreReader {
  getRun(runId: string): Promise<RunRecord | null>;
  listRuns(filter?: RunFilter): Promise<readonly RunRecord[]>;
  /** Whether a living process has the run. */
  isHeld(runId: string): Promise<boolean>;
  /**
   * The runs of this pipeline and input that have not ended, and the newest one of all, newest first; and whether a living
   * process has each. A fork is resumed by its id alone.
   */
  findRunsOf(pipeline: string, inputHash: Uint8Array): Promise<readonly RunOfInput[]>;
  /** The run's input and pinned shape, as they were given. */
  readRunInput(runId: string): Promise<{ readonly input: Json; readonly shape: Json }>;
  readUsage(runId: string): Promise<RunUsage>;
  /** What taking the run now would make of what its worker left open. */
  readLeftBehind(runId: string): Promise<LeftBehind>;

  listSteps(runId: string, range?: StepRange): Promise<readonly StepRecord[]>;
  findStep(runId: string, path: StepPath): Promise<StepRecord | null>;
  listLoopDecisions(stepKey: number): Promise<readonly LoopDecision[]>;

  /**
   * What the next turn needs, read backwards from the last commit until it is over `tailTokens`; not the whole past. Of the
   * results of a turn, only what `shareOut` gives them within `limits` counts; all of them, unless said.
   */
  readConversation(stepKey: number, tailTokens: number, limits?: ResultLimits): Promise<Conversation>;
  listTurns(runId: string, range?: TurnRange): Promise<readonly TurnRecord[]>;
  listModelCalls(runId: string, range?: ModelCallRange): Promise<readonly ModelCallRecord[]>;
  /** Step by step, in the order they were asked for; those of a code step have turn index 0. */
  listToolCalls(runId: string, range?: ToolCallRange): Promise<readonly ToolCallRecord[]>;
  /** The calls that the code of a step has made, in their order. */
  listCodeStepCalls(stepKey: number): Promise<readonly ToolCallRecord[]>;
  /** The tries that brought no receipt, in the order of their calls. */
  listToolCallAttempts(runId: string, range?: ToolCallAttemptRange): Promise<readonly ToolCallAttempt[]>;
  /** Whether a call of the run has failed and may have happened all the same. */
  hasUncertainCalls(runId: string): Promise<boolean>;
  /** The newest such call of this identity, unless one with the same identity has succeeded since. */
  findUncertainCall(runId: string, identityHash: Uint8Array): Promise<ToolCallRecord | null>;
  findToolCall(idempotencyKey: Uint8Array): Promise<ToolCallRecord | null>;
  getToolCall(toolCallId: string): Promise<ToolCallRecord | null>;
  /** Whether the ledger holds a call with this key. */
  hasToolCall(idempotencyKey: Uint8Array): Promise<boolean>;

  /** The whole stored history of a granular step, large results as references. By step path; a plain name will do. */
  readHistory(runId: string, stepName: string): Promise<readonly Message[]>;
  readGranularState(runId: string, stepName: string): Promise<GranularState | null>;
  /** The bytes of a blob that this run refers to; null when it is gone or was never this run's. */
  readBlob(runId: string, blobId: string): Promise<Uint8Array | null>;
  listEvents(runId: string, options?: EventRange): Promise<readonly EventRecord[]>;
  /** The run's session: its slices by name, each with all of its values. */
  readSession(runId: string): Promise<readonly StoredSlice[]>;
  /** Whether the present session has what this call told it. */
  isApplied(runId: string, toolCallId: string): Promise<boolean>;
  /** Whether the session had it and was rolled back since: its logs have it still. */
  isForgotten(runId: string, toolCallId: string): Promise<boolean>;
  listCheckpoints(runId: string, range?: CheckpointRange): Promise<readonly CheckpointRecord[]>;
  /** A checkpoint with its snapshot: that of this number, or the last one that the session was not rolled back behind. */
  readCheckpoint(runId: string, checkpoint?: number): Promise<CheckpointSnapshot | null>;
  listLineages(runId: string): Promise<readonly LineageRecord[]>;
  /** Every time that a worker took the run, and why. */
  listAttempts(runId: string): Promise<readonly AttemptRecord[]>;
  /** What a worker was asked last, and whether it has done it. */
  findWork(worker: string): Promise<WorkRecord | null>;
  /** What people were asked, in order, answered or not. */
  listWaits(runId: string, range?: WaitRange): Promise<readonly WaitRecord[]>;
  /** What people are asked and have not answered, of all runs, oldest first. */
  listOpenWaits(): Promise<readonly WaitRecord[]>;
  /** Whether somebody wants the run to end. */
  isCancelRequested(runId: string): Promise<boolean>;
  /** What the run has made, by name. */
  listArtifacts(runId: string): Promise<readonly ArtifactRecord[]>;
  /** The bytes of an artifact; null where there is none of that name, or its blob was collected. */
  readArtifact(runId: string, name: string): Promise<Uint8Array | null>;
  /** How many step instances and tool calls the run has. */
  countWork(runId: string): Promise<{ readonly steps: number; readonly toolCalls: number }>;
  /** Whether a path leads to a file of the store's own, which nobody else may open, replace or move. It opens nothing. */
  isOwnFile(path: string): Promise<boolean>;
  /** What is wrong with the database itself, in sentences; nothing where all is well. It reads the whole of it. */
  checkIntegrity(): Promise<readonly string[]>;
  /** Looks whether the run's events, receipts and blobs are what was written, and names each row that is not. */
  verify(runId: string): Promise<Verification>;
}
