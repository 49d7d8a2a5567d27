import type { Json } from "../../core/json.ts";
import type { Message } from "../../core/message.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { Settlement } from "../../core/wait.ts";
import type * as contract from "../store.ts";
import { StoreFiles } from "../store-files.ts";
import * as artifacts from "./artifact-intents.ts";
import { collectBlobs, readBlob } from "./blob-intents.ts";
import type { Database } from "./database.ts";
import { Database as SqliteDatabase } from "./database.ts";
import { dropTurn } from "./drop-turn.ts";
import { forkRun } from "./fork-intents.ts";
import { type CommitObserver, closedError, GroupCommit } from "./group-commit.ts";
import { beginLineage } from "./lineage-intents.ts";
import { migrate } from "./migrate.ts";
import { OwnerLock } from "./owner-lock.ts";
import * as readers from "./readers.ts";
import * as runs from "./run-intents.ts";
import * as lists from "./run-lists.ts";
import { getRun, requireRunNo } from "./run-row.ts";
import * as sessions from "./session-readers.ts";
import * as steps from "./step-intents.ts";
import * as calls from "./tool-call-intents.ts";
import * as turns from "./turn-intents.ts";
import * as turnReaders from "./turn-readers.ts";
import { verify } from "./verify.ts";
import * as waits from "./wait-intents.ts";
import { listOpenWaits, listWaits } from "./wait-readers.ts";
import { whileBusy } from "./while-busy.ts";
import * as workers from "./worker-intents.ts";

export type SqliteStoreOptions = {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly onCommit?: CommitObserver;
};

type Listed<List extends `list${string}` & keyof contract.Store> = ReturnType<contract.Store[List]>;

/** The store on one SQLite file: the default. Processes on the same machine may share the file. */
export class SqliteStore implements contract.Store {
  readonly #database: Database;
  readonly #commits: GroupCommit;
  readonly #lock: OwnerLock;
  readonly #now: () => number;
  readonly #files: StoreFiles;
  #closed = false;

  private constructor(database: Database, lock: OwnerLock, options: SqliteStoreOptions) {
    this.#database = database;
    this.#lock = lock;
    this.#now = options.now ?? Date.now;
    this.#files = new StoreFiles(database.file);
    this.#commits = new GroupCommit(database, options.onCommit ?? (() => undefined));
  }

  /** Opens or creates the file. Another process that is just doing the same is waited for. */
  static async open(file: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
    const database = await whileBusy(file, () => SqliteDatabase.open(file));
    try {
      await whileBusy(file, () => migrate(database, (options.now ?? Date.now)()));
      const lock = await whileBusy(file, () => OwnerLock.take(file));
      const store = new SqliteStore(database, lock, options);
      await whileBusy(file, () => lock.sweep((lockId) => runs.releaseDeadOwner(database, lockId)));
      return store;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#commits.close();
    this.#closed = true;
    this.#lock.release();
    this.#database.close();
    return Promise.resolve();
  }

  createRun(run: contract.NewRun): ReturnType<contract.Store["createRun"]> {
    return this.#write("createRun", (now) => runs.createRun(this.#database, this.#lock, now, run));
  }

  claimRun(runId: string, options: contract.ClaimOptions): Promise<contract.ClaimOutcome> {
    return this.#write("claimRun", (now) => runs.claimRun(this.#database, this.#lock, now, runId, options));
  }

  renewLease(fence: contract.Fence, leaseMs: number): Promise<void> {
    return this.#write("renewLease", (now) => runs.renewLease(this.#database, now, fence, leaseMs));
  }

  releaseRun(fence: contract.Fence, end: contract.RunEnd): Promise<void> {
    return this.#write("releaseRun", (now) => runs.releaseRun(this.#database, now, fence, end));
  }

  pinShape(fence: contract.Fence, shape: Json): Promise<void> {
    return this.#write("pinShape", (now) => runs.pinShape(this.#database, now, fence, shape));
  }

  beginStep(fence: contract.Fence, step: contract.NewStep): Promise<contract.StepRecord> {
    return this.#write("beginStep", (now) => steps.beginStep(this.#database, now, fence, step));
  }

  finishStep(fence: contract.Fence, step: contract.FinishedStep): ReturnType<contract.Store["finishStep"]> {
    return this.#write("finishStep", (now) => steps.finishStep(this.#database, now, fence, step));
  }

  skipStep(fence: contract.Fence, step: contract.NewStep): Promise<void> {
    return this.#write("skipStep", (now) => steps.skipStep(this.#database, now, fence, step));
  }

  decideLoop(fence: contract.Fence, decision: contract.LoopDecision): Promise<void> {
    return this.#write("decideLoop", (now) => steps.decideLoop(this.#database, now, fence, decision));
  }

  openTurn(fence: contract.Fence, opening: contract.TurnOpening): Promise<contract.TurnOpened> {
    return this.#write("openTurn", (now) => turns.openTurn(this.#database, now, fence, opening));
  }

  settleModelCall(fence: contract.Fence, settled: contract.ModelCallSettlement): Promise<void> {
    return this.#write("settleModelCall", (at) => turns.settleModelCall(this.#database, at, fence, settled));
  }

  journalResponse(fence: contract.Fence, journal: contract.TurnJournal): Promise<void> {
    return this.#write("journalResponse", (at) => turns.journalResponse(this.#database, at, fence, journal));
  }

  startToolCalls(fence: contract.Fence, start: contract.ToolCallStart): Promise<void> {
    return this.#write("startToolCalls", (now) => calls.startToolCalls(this.#database, now, fence, start));
  }

  openToolCall(fence: contract.Fence, call: contract.CodeToolCall): Promise<number> {
    return this.#write("openToolCall", (now) => calls.openToolCall(this.#database, now, fence, call));
  }

  recordReceipt(fence: contract.Fence, record: contract.ReceiptRecord): Promise<void> {
    return this.#write("recordReceipt", (now) => calls.recordReceipt(this.#database, now, fence, record));
  }

  endToolCallTry(fence: contract.Fence, end: contract.ToolCallTryEnd): Promise<void> {
    return this.#write("endToolCallTry", (now) => calls.endToolCallTry(this.#database, now, fence, end));
  }

  offerLateReceipt(late: contract.LateReceipt): Promise<"settled" | "kept"> {
    return this.#write("offerLateReceipt", (now) => calls.offerLateReceipt(this.#database, now, late));
  }

  commitTurn(fence: contract.Fence, commit: contract.TurnCommit): ReturnType<contract.Store["commitTurn"]> {
    return this.#write("commitTurn", (now) => turns.commitTurn(this.#database, now, fence, commit));
  }

  beginLineage(fence: contract.Fence, lineage: contract.NewLineage): Promise<number> {
    return this.#write("beginLineage", (now) => beginLineage(this.#database, now, fence, lineage));
  }

  acceptDivergence(fence: contract.Fence, accepted: contract.AcceptedDivergence): Promise<void> {
    return this.#write("acceptDivergence", (at) =>
      turns.acceptDivergence(this.#database, at, fence, accepted),
    );
  }

  keepTrace(fence: contract.Fence, traceParent: string): Promise<void> {
    return this.#write("keepTrace", (now) => runs.keepTrace(this.#database, now, fence, traceParent));
  }

  dropTurn(fence: contract.Fence, dropped: contract.DroppedTurn): Promise<void> {
    return this.#write("dropTurn", (now) => dropTurn(this.#database, now, fence, dropped));
  }

  forkRun(fork: contract.NewFork): Promise<contract.RunRecord> {
    return this.#write("forkRun", (now) => forkRun(this.#database, this.#lock, now, fork));
  }

  beginWork(worker: string, request: contract.WorkerRequest): Promise<contract.WorkerRequest> {
    return this.#write("beginWork", () => workers.beginWork(this.#database, worker, request));
  }

  completeWork(worker: string, runId: string): Promise<void> {
    return this.#write("completeWork", (now) => workers.completeWork(this.#database, now, worker, runId));
  }

  approve(waitId: string, person: contract.Person = {}): Promise<void> {
    return this.#write("approve", (now) => waits.approve(this.#database, now, waitId, person));
  }

  deny(waitId: string, why: string, person: contract.Person = {}): Promise<void> {
    return this.#write("deny", (now) => waits.deny(this.#database, now, waitId, why, person));
  }

  answer(waitId: string, value: Json, person: contract.Person = {}): Promise<void> {
    return this.#write("answer", (now) => waits.answer(this.#database, now, waitId, value, person));
  }

  settle(toolCallId: string, settlement: Settlement, person: contract.Person = {}): Promise<void> {
    return this.#write("settle", (now) => waits.settle(this.#database, now, toolCallId, settlement, person));
  }

  keepArtifact(fence: contract.Fence, artifact: contract.NewArtifact): Promise<contract.ArtifactRecord> {
    return this.#write("keepArtifact", (now) => artifacts.keepArtifact(this.#database, now, fence, artifact));
  }

  requestCancel(runId: string, by: contract.Person = {}): Promise<contract.CancelOutcome> {
    return this.#write("requestCancel", (at) =>
      runs.requestCancel(this.#database, this.#lock, at, runId, by),
    );
  }

  collectBlobs(policy: contract.BlobRetention): Promise<contract.BlobCollection> {
    return this.#write("collectBlobs", (now) => collectBlobs(this.#database, now, policy));
  }

  getRun(runId: string): Promise<contract.RunRecord | null> {
    return this.#read(() => getRun(this.#database, runId));
  }

  listRuns(filter: contract.RunFilter = {}): Promise<readonly contract.RunRecord[]> {
    return this.#read(() => readers.listRuns(this.#database, filter));
  }

  isHeld(runId: string): Promise<boolean> {
    return this.#read(() => runs.isRunHeld(this.#database, this.#lock, this.#now(), runId));
  }

  findLatestRun(pipeline: string, inputHash: Uint8Array): Promise<contract.RunRecord | null> {
    return this.#read(() => readers.findLatestRun(this.#database, pipeline, inputHash));
  }

  findAbandonedRuns(pipeline: string, inputHash: Uint8Array): Promise<readonly string[]> {
    return this.#read(() =>
      readers
        .startedRuns(this.#database, pipeline, inputHash)
        .filter((run) => !runs.isHeld(run, this.#lock, this.#now()))
        .map((run) => run.runId),
    );
  }

  readRunInput(runId: string): Promise<{ input: Json; shape: Json }> {
    return this.#read(() => readers.readRunInput(this.#database, runId));
  }

  readUsage(runId: string): Promise<contract.RunUsage> {
    return this.#read(() => readers.readUsage(this.#database, runId));
  }

  listSteps(runId: string, range?: contract.StepRange): Listed<"listSteps"> {
    return this.#read(() => steps.listSteps(this.#database, runId, range));
  }

  findStep(runId: string, path: StepPath): Promise<contract.StepRecord | null> {
    return this.#read(() => steps.findStep(this.#database, runId, path));
  }

  listLoopDecisions(stepKey: number): ReturnType<contract.Store["listLoopDecisions"]> {
    return this.#read(() => steps.listLoopDecisions(this.#database, stepKey));
  }

  readConversation(stepKey: number, tailTokens: number): Promise<contract.Conversation> {
    return this.#read(() => turnReaders.readConversation(this.#database, stepKey, tailTokens));
  }

  listTurns(runId: string, range?: contract.TurnRange): Listed<"listTurns"> {
    return this.#read(() => lists.listTurns(this.#database, runId, range));
  }

  listModelCalls(runId: string, range?: contract.ModelCallRange): Listed<"listModelCalls"> {
    return this.#read(() => lists.listModelCalls(this.#database, runId, range));
  }

  listToolCalls(runId: string, range?: contract.ToolCallRange): Listed<"listToolCalls"> {
    return this.#read(() => lists.listToolCalls(this.#database, runId, range));
  }

  listCodeStepCalls(stepKey: number): Promise<readonly contract.ToolCallRecord[]> {
    return this.#read(() => turnReaders.listCodeStepCalls(this.#database, stepKey));
  }

  listToolCallTries(runId: string, range?: contract.ToolCallTryRange): Listed<"listToolCallTries"> {
    return this.#read(() => lists.listToolCallTries(this.#database, runId, range));
  }

  hasUncertainCalls(runId: string): Promise<boolean> {
    return this.#read(() => turnReaders.hasUncertainCalls(this.#database, runId));
  }

  findUncertainCall(runId: string, identityHash: Uint8Array): Promise<contract.ToolCallRecord | null> {
    return this.#read(() => turnReaders.findUncertainCall(this.#database, runId, identityHash));
  }

  findToolCall(key: Uint8Array): Promise<contract.ToolCallRecord | null> {
    return this.#read(() => turnReaders.findToolCall(this.#database, key));
  }

  getToolCall(toolCallId: string): Promise<contract.ToolCallRecord | null> {
    return this.#read(() => turnReaders.getToolCall(this.#database, toolCallId));
  }

  hasToolCall(idempotencyKey: Uint8Array): Promise<boolean> {
    return this.#read(() => turnReaders.hasToolCall(this.#database, idempotencyKey));
  }

  readHistory(runId: string, stepName: string): Promise<readonly Message[]> {
    return this.#read(() => turnReaders.readHistory(this.#database, runId, stepName));
  }

  readGranularState(runId: string, stepName: string): Promise<contract.GranularState | null> {
    return this.#read(() => turnReaders.readGranularState(this.#database, runId, stepName));
  }

  readBlob(runId: string, blobId: string): Promise<Uint8Array | null> {
    return this.#read(() => readBlob(this.#database, requireRunNo(this.#database, runId), blobId));
  }

  listEvents(runId: string, range: contract.EventRange = {}): Promise<readonly contract.EventRecord[]> {
    const { after = 0, limit = 10_000 } = range;
    return this.#read(() => readers.listEvents(this.#database, runId, after, limit));
  }

  readSession(runId: string): Promise<readonly contract.StoredSlice[]> {
    return this.#read(() => sessions.readSession(this.#database, runId));
  }

  isApplied(runId: string, toolCallId: string): Promise<boolean> {
    return this.#read(() => sessions.isApplied(this.#database, runId, toolCallId));
  }

  isForgotten(runId: string, toolCallId: string): Promise<boolean> {
    return this.#read(() => sessions.isForgotten(this.#database, runId, toolCallId));
  }

  listCheckpoints(runId: string, range?: contract.CheckpointRange): Listed<"listCheckpoints"> {
    return this.#read(() => sessions.listCheckpoints(this.#database, runId, range));
  }

  readCheckpoint(runId: string, checkpoint?: number): Promise<contract.CheckpointSnapshot | null> {
    return this.#read(() => sessions.readCheckpoint(this.#database, runId, checkpoint));
  }

  listLineages(runId: string): Promise<readonly contract.LineageRecord[]> {
    return this.#read(() => sessions.listLineages(this.#database, runId));
  }

  listAttempts(runId: string): Promise<readonly contract.AttemptRecord[]> {
    return this.#read(() => sessions.listAttempts(this.#database, runId));
  }

  findWork(worker: string): Promise<contract.WorkRecord | null> {
    return this.#read(() => workers.findWork(this.#database, worker));
  }

  listWaits(runId: string, range?: contract.WaitRange): Listed<"listWaits"> {
    return this.#read(() => listWaits(this.#database, runId, range));
  }

  listOpenWaits(): Promise<readonly contract.WaitRecord[]> {
    return this.#read(() => listOpenWaits(this.#database));
  }

  isCancelRequested(runId: string): Promise<boolean> {
    return this.#read(() => readers.isCancelRequested(this.#database, runId));
  }

  listArtifacts(runId: string): Promise<readonly contract.ArtifactRecord[]> {
    return this.#read(() => artifacts.listArtifacts(this.#database, runId));
  }

  readArtifact(runId: string, name: string): Promise<Uint8Array | null> {
    return this.#read(() => artifacts.readArtifact(this.#database, runId, name));
  }

  countWork(runId: string): ReturnType<contract.Store["countWork"]> {
    return this.#read(() => readers.countWork(this.#database, runId));
  }

  isOwnFile(path: string): Promise<boolean> {
    return this.#files.has(path);
  }

  checkIntegrity(): Promise<readonly string[]> {
    return this.#read(() => readers.checkIntegrity(this.#database));
  }

  verify(runId: string): Promise<contract.Verification> {
    return this.#read(() => verify(this.#database, runId));
  }

  #write<T>(intent: string, work: (now: number) => T): Promise<T> {
    return this.#commits.submit(intent, () => work(this.#now()));
  }

  #read<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#database.file));
    return whileBusy(this.#database.file, () => this.#database.snapshot(work));
  }
}
