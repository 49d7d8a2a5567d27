import type { Message } from "../../core/message.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { ResultLimits } from "../../core/usage/result-share.ts";
import type * as contract from "../store.ts";
import * as access from "./access/access-rows.ts";
import * as audit from "./access/audit-rows.ts";
import type { Driver } from "./driver.ts";
import { readLeftBehind } from "./intents/left-open.ts";
import { isRunHeld, leaseOf } from "./intents/run-interruption.ts";
import * as steps from "./intents/step-intents.ts";
import * as workers from "./intents/worker-intents.ts";
import type { Leases } from "./leases.ts";
import type { OwnerWatch } from "./owners.ts";
import * as exchanges from "./queries/exchange-queries.ts";
import { readMovedRows } from "./queries/moved-rows.ts";
import * as queues from "./queries/queue-queries.ts";
import * as retention from "./queries/retention-queries.ts";
import * as lists from "./queries/run-lists.ts";
import * as readers from "./queries/run-queries.ts";
import * as schedules from "./queries/schedule-queries.ts";
import * as sessions from "./queries/session-queries.ts";
import * as turnReaders from "./queries/turn-queries.ts";
import { listWaits } from "./queries/wait-queries.ts";
import { closedError, type Listed, SqlOverview } from "./sql-overview.ts";
import { findAddress } from "./tables/address-rows.ts";
import * as artifacts from "./tables/artifact-rows.ts";
import { readBlob } from "./tables/blob-rows.ts";
import { getTombstone } from "./tables/missing-run.ts";
import { getRun } from "./tables/run-record.ts";
import { requireRunKey } from "./tables/run-row.ts";
import { verify } from "./verify/verify.ts";

/** The reads of a store: each sees one state, whatever other processes commit in between. */
export abstract class SqlReader extends SqlOverview implements contract.StoreReader {
  protected readonly owners: OwnerWatch;
  protected readonly leases: Leases;

  constructor(driver: Driver, owners: OwnerWatch, leases: Leases) {
    super(driver);
    this.owners = owners;
    this.leases = leases;
  }

  get live(): contract.LiveParts {
    return this.driver.live;
  }

  commitsSeen(): number | null {
    return this.isOver ? null : this.driver.commitsSeen();
  }

  readProgress(runIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.read(() => readers.readProgress(runIds));
  }

  getRun(runId: string): Promise<contract.RunRecord | null> {
    return this.read(() => getRun(runId));
  }

  listReady(query: contract.ReadyQuery): Listed<"listReady"> {
    return this.read(() => queues.listReady(this.driver.now(), query));
  }

  countReady(): Promise<readonly contract.QueueDepth[]> {
    return this.read(() => queues.countReady(this.driver.now()));
  }

  listSleeping({ limit }: { readonly limit: number }): Listed<"listSleeping"> {
    return this.read(() => queues.listSleeping(this.driver.now(), limit));
  }

  async listAbandoned(): Promise<readonly contract.AbandonedRun[]> {
    const running = await this.read(() => queues.listRunning());
    const renewals = new Map<string, number>();
    for (const { owner, leaseUntil, leaseMs } of running)
      if (owner !== null) renewals.set(owner, Math.max(renewals.get(owner) ?? 0, leaseUntil - leaseMs));
    await Promise.all([...renewals].map(([owner, renewedAt]) => this.owners.look(owner, renewedAt)));
    const now = this.driver.now();
    return running
      .filter((run) => !this.leases.isHeld(run, now))
      .map(({ runId, pipeline, queue, workerVersion, heardAt }) => ({
        runId,
        pipeline,
        queue,
        workerVersion,
        idleMs: Math.max(0, now - heardAt),
      }));
  }

  watchReady(
    listener: () => void,
    onNotice: (reason: string) => void = () => undefined,
  ): Promise<() => void> {
    return this.driver.watch(listener, onNotice);
  }

  listExchanges(runId: string, range?: contract.ExchangeRange): Listed<"listExchanges"> {
    return this.read(() => exchanges.listExchanges(runId, range));
  }

  readMailbox(runId: string, stepKey: number): Promise<contract.Mailbox> {
    return this.read(() => exchanges.readMailbox(runId, stepKey));
  }

  readRequests(runId: string): Promise<contract.RunRequestsSeen> {
    return this.read(() => exchanges.readRequests(runId));
  }

  listMessages(runId: string, range?: contract.MessageRange): Listed<"listMessages"> {
    return this.read(() => queues.listMessages(runId, range));
  }

  findAddress(address: string): Promise<string | null> {
    return this.read(() => findAddress(address));
  }

  listEndedRuns(query: contract.EndedQuery): Listed<"listEndedRuns"> {
    return this.read(() => retention.listEndedRuns(query));
  }

  getTombstone(runId: string): Promise<contract.Tombstone | null> {
    return this.read(() => getTombstone(runId));
  }

  listTombstones(range: contract.TombstoneRange = {}): Listed<"listTombstones"> {
    return this.read(() => retention.listTombstones(range));
  }

  findAccess(hash: Uint8Array): Promise<contract.AccessRecord | null> {
    return this.read(() => access.findAccess(hash));
  }

  getAccess(id: string): Promise<contract.AccessRecord | null> {
    return this.read(() => access.getAccess(id));
  }

  listAccess(): Listed<"listAccess"> {
    return this.read(() => access.listAccess());
  }

  listAudit(range: contract.AuditRange = {}): Listed<"listAudit"> {
    return this.read(() => audit.listAudit(range));
  }

  verifyAudit(): Promise<contract.AuditVerification> {
    return this.readLong(() => audit.verifyAudit());
  }

  listSchedules(): Listed<"listSchedules"> {
    return this.read(() => schedules.listSchedules());
  }

  listFirings(name: string, range?: { readonly limit?: number }): Listed<"listFirings"> {
    return this.read(() => schedules.listFirings(name, range));
  }

  listDueSchedules({ limit }: { readonly limit: number }): Listed<"listDueSchedules"> {
    return this.read(() => schedules.listDueSchedules(this.driver.now(), limit));
  }

  async isHeld(runId: string): Promise<boolean> {
    await this.lookAtOwner(runId);
    return this.read(() => isRunHeld(this.leases, this.driver.now(), runId));
  }

  async findRunsOf(pipeline: string, inputHash: Uint8Array): Promise<readonly contract.RunOfInput[]> {
    const found = await this.read(() => readers.findRunsOf(pipeline, inputHash));
    const owners = new Set(found.flatMap(({ owner }) => owner ?? []));
    await Promise.all([...owners].map((owner) => this.owners.look(owner, 0)));
    const { leases } = this;
    const now = this.driver.now();
    return this.read(function* () {
      const runs: contract.RunOfInput[] = [];
      for (const run of yield* readers.findRunsOf(pipeline, inputHash))
        runs.push({ run, isHeld: yield* isRunHeld(leases, now, run.runId) });
      return runs;
    });
  }

  readRunInput(runId: string): ReturnType<contract.StoreReader["readRunInput"]> {
    return this.read(() => readers.readRunInput(runId));
  }

  readUsage(runId: string): Promise<contract.RunUsage> {
    return this.readLong(
      () => readers.readUsage(runId),
      () => readers.isLongRun(runId),
    );
  }

  async readLeftBehind(runId: string): Promise<contract.LeftBehind> {
    await this.lookAtOwner(runId);
    return this.read(() => readLeftBehind(this.leases, runId));
  }

  listSteps(runId: string, range?: contract.StepRange): Listed<"listSteps"> {
    return this.read(() => steps.listSteps(runId, range));
  }

  findStep(runId: string, path: StepPath): Promise<contract.StepRecord | null> {
    return this.read(() => steps.findStep(runId, path));
  }

  listLoopDecisions(runId: string, stepKey: number): ReturnType<contract.Store["listLoopDecisions"]> {
    return this.read(() => steps.listLoopDecisions(runId, stepKey));
  }

  readConversation(
    runId: string,
    stepKey: number,
    tailTokens: number,
    limits?: ResultLimits,
  ): Promise<contract.Conversation> {
    return this.read(() => turnReaders.readConversation({ runId, stepKey }, tailTokens, limits));
  }

  listTurns(runId: string, range?: contract.TurnRange): Listed<"listTurns"> {
    return this.read(() => lists.listTurns(runId, range));
  }

  listModelCalls(runId: string, range?: contract.ModelCallRange): Listed<"listModelCalls"> {
    return this.read(() => lists.listModelCalls(runId, range));
  }

  listToolCalls(runId: string, range?: contract.ToolCallRange): Listed<"listToolCalls"> {
    return this.read(() => lists.listToolCalls(runId, range));
  }

  listCodeStepCalls(runId: string, stepKey: number): Promise<readonly contract.ToolCallRecord[]> {
    return this.read(() => turnReaders.listCodeStepCalls(runId, stepKey));
  }

  listToolCallAttempts(runId: string, range?: contract.ToolCallAttemptRange): Listed<"listToolCallAttempts"> {
    return this.read(() => lists.listToolCallAttempts(runId, range));
  }

  hasUncertainCalls(runId: string): Promise<boolean> {
    return this.read(() => turnReaders.hasUncertainCalls(runId));
  }

  findUncertainCall(runId: string, identityHash: Uint8Array): Promise<contract.ToolCallRecord | null> {
    return this.read(() => turnReaders.findUncertainCall(runId, identityHash));
  }

  findToolCall(runId: string, key: Uint8Array): Promise<contract.ToolCallRecord | null> {
    return this.read(() => turnReaders.findToolCall(runId, key));
  }

  getToolCall(toolCallId: string): Promise<contract.ToolCallRecord | null> {
    return this.read(() => turnReaders.getToolCall(toolCallId));
  }

  hasToolCall(runId: string, key: Uint8Array): Promise<boolean> {
    return this.read(() => turnReaders.hasToolCall(runId, key));
  }

  readHistory(runId: string, stepName: string): Promise<readonly Message[]> {
    return this.read(() => turnReaders.readHistory(runId, stepName));
  }

  readGranularState(runId: string, stepName: string): Promise<contract.GranularState | null> {
    return this.read(() => turnReaders.readGranularState(runId, stepName));
  }

  readBlob(runId: string, blobId: string): Promise<Uint8Array | null> {
    return this.read(function* () {
      return yield* readBlob(yield* requireRunKey(runId), blobId);
    });
  }

  listEvents(runId: string, range: contract.EventRange = {}): Promise<readonly contract.EventRecord[]> {
    const { after = 0, limit = 10_000 } = range;
    return this.read(() => readers.listEvents(runId, after, limit));
  }

  readSession(runId: string): Promise<readonly contract.StoredSlice[]> {
    return this.read(() => sessions.readSession(runId));
  }

  isApplied(runId: string, toolCallId: string): Promise<boolean> {
    return this.read(() => sessions.isApplied(runId, toolCallId));
  }

  isForgotten(runId: string, toolCallId: string): Promise<boolean> {
    return this.read(() => sessions.isForgotten(runId, toolCallId));
  }

  findMilestone(runId: string): Promise<contract.CheckpointRecord | null> {
    return this.read(() => sessions.findMilestone(runId));
  }

  listCheckpoints(runId: string, range?: contract.CheckpointRange): Listed<"listCheckpoints"> {
    return this.read(() => sessions.listCheckpoints(runId, range));
  }

  readCheckpoint(runId: string, checkpoint?: number): Promise<contract.CheckpointSnapshot | null> {
    return this.read(() => sessions.readCheckpoint(runId, checkpoint));
  }

  listLineages(runId: string): Promise<readonly contract.LineageRecord[]> {
    return this.read(() => sessions.listLineages(runId));
  }

  listAttempts(runId: string): Promise<readonly contract.AttemptRecord[]> {
    return this.read(() => sessions.listAttempts(runId));
  }

  findWork(worker: string): Promise<contract.WorkRecord | null> {
    return this.read(() => workers.findWork(worker));
  }

  listWaits(runId: string, range?: contract.WaitRange): Listed<"listWaits"> {
    return this.read(() => listWaits(runId, range));
  }

  isCancelRequested(runId: string): Promise<boolean> {
    return this.read(() => readers.isCancelRequested(runId));
  }

  listArtifacts(runId: string): Promise<readonly contract.ArtifactRecord[]> {
    return this.read(() => artifacts.listArtifacts(runId));
  }

  readArtifact(runId: string, name: string): Promise<Uint8Array | null> {
    return this.read(() => artifacts.readArtifact(runId, name));
  }

  countWork(runId: string): ReturnType<contract.Store["countWork"]> {
    return this.read(() => readers.countWork(runId));
  }

  readMovedRows(runId: string, from?: contract.BundlePosition): Promise<contract.BundlePart> {
    return this.read(() => readMovedRows(runId, from ?? null));
  }

  isOwnFile(path: string): Promise<boolean> {
    return this.driver.isOwnFile(path);
  }

  checkIntegrity(): Promise<readonly string[]> {
    if (this.isOver) return Promise.reject(closedError(this.driver.name));
    return this.driver.checkIntegrity();
  }

  verify(runId: string): Promise<contract.Verification> {
    return this.readLong(() => verify(runId));
  }

  /** The owner of the run may have died: that must be known before a decision about its lease. */
  protected async lookAtOwner(runId: string): Promise<void> {
    const lease = await this.read(() => leaseOf(runId));
    if (lease !== null) await this.owners.look(lease.owner, lease.renewedAt);
  }
}
