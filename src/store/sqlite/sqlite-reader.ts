import type { Json } from "../../core/json.ts";
import type { Message } from "../../core/message.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { ResultLimits } from "../../core/usage/result-share.ts";
import type * as contract from "../store.ts";
import { StoreFiles } from "../store-files.ts";
import type { Database } from "./database.ts";
import { closedError } from "./group-commit.ts";
import { readLeftBehind } from "./intents/left-open.ts";
import { isRunHeld, ownerOf } from "./intents/run-interruption.ts";
import * as steps from "./intents/step-intents.ts";
import * as workers from "./intents/worker-intents.ts";
import type { Leases } from "./leases.ts";
import type { OwnerLock } from "./owner-lock.ts";
import * as lists from "./queries/run-lists.ts";
import * as readers from "./queries/run-queries.ts";
import * as sessions from "./queries/session-queries.ts";
import * as turnReaders from "./queries/turn-queries.ts";
import { listWaits } from "./queries/wait-queries.ts";
import { SchemaGuard } from "./schema-guard.ts";
import * as artifacts from "./tables/artifact-rows.ts";
import { readBlob } from "./tables/blob-rows.ts";
import { getRun, requireRunNo } from "./tables/run-row.ts";
import { verify } from "./verify/verify.ts";
import { listTrustedWaits } from "./verify/verify-open.ts";
import { whileBusy } from "./while-busy.ts";

type Listed<List extends `list${string}` & keyof contract.StoreReader> = ReturnType<
  contract.StoreReader[List]
>;

/** The reads of the store on one SQLite file: each sees one state, whatever other processes commit in between. */
export abstract class SqliteReader implements contract.StoreReader {
  protected readonly database: Database;
  protected readonly lock: OwnerLock;
  protected readonly leases: Leases;
  protected readonly now: () => number;
  protected readonly schema: SchemaGuard;
  readonly #files: StoreFiles;

  constructor(database: Database, lock: OwnerLock, leases: Leases, now: () => number) {
    this.database = database;
    this.lock = lock;
    this.leases = leases;
    this.now = now;
    this.schema = new SchemaGuard(database);
    this.#files = new StoreFiles(database.file);
  }

  /** True if the store is closed and no worker is left that may still read. */
  protected abstract get isOver(): boolean;

  getRun(runId: string): Promise<contract.RunRecord | null> {
    return this.read(() => getRun(this.database, runId));
  }

  listRuns(filter: contract.RunFilter = {}): Promise<readonly contract.RunRecord[]> {
    return this.read(() => readers.listRuns(this.database, filter));
  }

  async isHeld(runId: string): Promise<boolean> {
    await this.lookAtOwner(runId);
    return this.read(() => isRunHeld(this.database, this.leases, this.now(), runId));
  }

  async findRunsOf(pipeline: string, inputHash: Uint8Array): Promise<readonly contract.RunOfInput[]> {
    const find = () => readers.findRunsOf(this.database, pipeline, inputHash);
    const owners = new Set((await this.read(find)).flatMap(({ owner }) => owner ?? []));
    await Promise.all([...owners].map((owner) => this.lock.look(owner)));
    const isHeld = (runId: string) => isRunHeld(this.database, this.leases, this.now(), runId);
    return this.read(() => find().map((run) => ({ run, isHeld: isHeld(run.runId) })));
  }

  readRunInput(runId: string): Promise<{ input: Json; shape: Json }> {
    return this.read(() => readers.readRunInput(this.database, runId));
  }

  readUsage(runId: string): Promise<contract.RunUsage> {
    return this.read(() => readers.readUsage(this.database, runId));
  }

  async readLeftBehind(runId: string): Promise<contract.LeftBehind> {
    await this.lookAtOwner(runId);
    return this.read(() => readLeftBehind(this.database, this.leases, runId));
  }

  listSteps(runId: string, range?: contract.StepRange): Listed<"listSteps"> {
    return this.read(() => steps.listSteps(this.database, runId, range));
  }

  findStep(runId: string, path: StepPath): Promise<contract.StepRecord | null> {
    return this.read(() => steps.findStep(this.database, runId, path));
  }

  listLoopDecisions(stepKey: number): ReturnType<contract.Store["listLoopDecisions"]> {
    return this.read(() => steps.listLoopDecisions(this.database, stepKey));
  }

  readConversation(
    stepKey: number,
    tailTokens: number,
    limits?: ResultLimits,
  ): Promise<contract.Conversation> {
    return this.read(() => turnReaders.readConversation(this.database, stepKey, tailTokens, limits));
  }

  listTurns(runId: string, range?: contract.TurnRange): Listed<"listTurns"> {
    return this.read(() => lists.listTurns(this.database, runId, range));
  }

  listModelCalls(runId: string, range?: contract.ModelCallRange): Listed<"listModelCalls"> {
    return this.read(() => lists.listModelCalls(this.database, runId, range));
  }

  listToolCalls(runId: string, range?: contract.ToolCallRange): Listed<"listToolCalls"> {
    return this.read(() => lists.listToolCalls(this.database, runId, range));
  }

  listCodeStepCalls(stepKey: number): Promise<readonly contract.ToolCallRecord[]> {
    return this.read(() => turnReaders.listCodeStepCalls(this.database, stepKey));
  }

  listToolCallAttempts(runId: string, range?: contract.ToolCallAttemptRange): Listed<"listToolCallAttempts"> {
    return this.read(() => lists.listToolCallAttempts(this.database, runId, range));
  }

  hasUncertainCalls(runId: string): Promise<boolean> {
    return this.read(() => turnReaders.hasUncertainCalls(this.database, runId));
  }

  findUncertainCall(runId: string, identityHash: Uint8Array): Promise<contract.ToolCallRecord | null> {
    return this.read(() => turnReaders.findUncertainCall(this.database, runId, identityHash));
  }

  findToolCall(key: Uint8Array): Promise<contract.ToolCallRecord | null> {
    return this.read(() => turnReaders.findToolCall(this.database, key));
  }

  getToolCall(toolCallId: string): Promise<contract.ToolCallRecord | null> {
    return this.read(() => turnReaders.getToolCall(this.database, toolCallId));
  }

  hasToolCall(idempotencyKey: Uint8Array): Promise<boolean> {
    return this.read(() => turnReaders.hasToolCall(this.database, idempotencyKey));
  }

  readHistory(runId: string, stepName: string): Promise<readonly Message[]> {
    return this.read(() => turnReaders.readHistory(this.database, runId, stepName));
  }

  readGranularState(runId: string, stepName: string): Promise<contract.GranularState | null> {
    return this.read(() => turnReaders.readGranularState(this.database, runId, stepName));
  }

  readBlob(runId: string, blobId: string): Promise<Uint8Array | null> {
    return this.read(() => readBlob(this.database, requireRunNo(this.database, runId), blobId));
  }

  listEvents(runId: string, range: contract.EventRange = {}): Promise<readonly contract.EventRecord[]> {
    const { after = 0, limit = 10_000 } = range;
    return this.read(() => readers.listEvents(this.database, runId, after, limit));
  }

  readSession(runId: string): Promise<readonly contract.StoredSlice[]> {
    return this.read(() => sessions.readSession(this.database, runId));
  }

  isApplied(runId: string, toolCallId: string): Promise<boolean> {
    return this.read(() => sessions.isApplied(this.database, runId, toolCallId));
  }

  isForgotten(runId: string, toolCallId: string): Promise<boolean> {
    return this.read(() => sessions.isForgotten(this.database, runId, toolCallId));
  }

  listCheckpoints(runId: string, range?: contract.CheckpointRange): Listed<"listCheckpoints"> {
    return this.read(() => sessions.listCheckpoints(this.database, runId, range));
  }

  readCheckpoint(runId: string, checkpoint?: number): Promise<contract.CheckpointSnapshot | null> {
    return this.read(() => sessions.readCheckpoint(this.database, runId, checkpoint));
  }

  listLineages(runId: string): Promise<readonly contract.LineageRecord[]> {
    return this.read(() => sessions.listLineages(this.database, runId));
  }

  listAttempts(runId: string): Promise<readonly contract.AttemptRecord[]> {
    return this.read(() => sessions.listAttempts(this.database, runId));
  }

  findWork(worker: string): Promise<contract.WorkRecord | null> {
    return this.read(() => workers.findWork(this.database, worker));
  }

  listWaits(runId: string, range?: contract.WaitRange): Listed<"listWaits"> {
    return this.read(() => listWaits(this.database, runId, range));
  }

  listOpenWaits(): Promise<readonly contract.WaitRecord[]> {
    return this.read(() => listTrustedWaits(this.database));
  }

  isCancelRequested(runId: string): Promise<boolean> {
    return this.read(() => readers.isCancelRequested(this.database, runId));
  }

  listArtifacts(runId: string): Promise<readonly contract.ArtifactRecord[]> {
    return this.read(() => artifacts.listArtifacts(this.database, runId));
  }

  readArtifact(runId: string, name: string): Promise<Uint8Array | null> {
    return this.read(() => artifacts.readArtifact(this.database, runId, name));
  }

  countWork(runId: string): ReturnType<contract.Store["countWork"]> {
    return this.read(() => readers.countWork(this.database, runId));
  }

  isOwnFile(path: string): Promise<boolean> {
    return this.#files.has(path);
  }

  checkIntegrity(): Promise<readonly string[]> {
    return this.read(() => readers.checkIntegrity(this.database));
  }

  verify(runId: string): Promise<contract.Verification> {
    return this.read(() => verify(this.database, runId));
  }

  /** The owner of the run may have died: that must be known before a decision about its lease. */
  protected async lookAtOwner(runId: string): Promise<void> {
    const owner = await this.read(() => ownerOf(this.database, runId));
    if (owner !== null) await this.lock.look(owner);
  }

  protected read<T>(work: () => T): Promise<T> {
    if (this.isOver) return Promise.reject(closedError(this.database.file));
    return whileBusy(this.database.file, () =>
      this.database.snapshot(() => {
        this.schema.assertReadable();
        return work();
      }),
    );
  }
}
