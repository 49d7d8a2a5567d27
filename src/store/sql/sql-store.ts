import type { Json } from "../../core/json.ts";
import type { Settlement } from "../../core/wait.ts";
import type * as contract from "../store.ts";
import type { WorkInProgress } from "../work-in-progress.ts";
import type { Driver } from "./driver.ts";
import * as arrivals from "./intents/arrival-intents.ts";
import { saveCheckpoint } from "./intents/checkpoint-intents.ts";
import * as compaction from "./intents/compaction-intents.ts";
import { deleteRun } from "./intents/deletion-intent.ts";
import { dropTurn } from "./intents/drop-turn-intent.ts";
import { endExchange } from "./intents/exchange-intents.ts";
import { forkRun } from "./intents/fork-intents.ts";
import { beginLineage } from "./intents/lineage-intents.ts";
import { identify, moveRun } from "./intents/move-intents.ts";
import * as creation from "./intents/run-creation.ts";
import * as runs from "./intents/run-intents.ts";
import * as interruption from "./intents/run-interruption.ts";
import * as steps from "./intents/step-intents.ts";
import { correlateToolCall } from "./intents/tool-call-correlation.ts";
import * as calls from "./intents/tool-call-intents.ts";
import * as turns from "./intents/turn-intents.ts";
import * as waits from "./intents/wait-answers.ts";
import * as workers from "./intents/worker-intents.ts";
import { MODEL_CALL } from "./owners.ts";
import { mayWake } from "./ready-listeners.ts";
import { runOfCall, runOfWait } from "./run-of-id.ts";
import type { SqlScript } from "./script.ts";
import { closedError } from "./sql-overview.ts";
import { SqlWebhooks } from "./sql-webhooks.ts";
import type { StoreParts } from "./store-options.ts";
import * as artifacts from "./tables/artifact-rows.ts";
import { collectBlobs } from "./tables/blob-rows.ts";
import { readStoreId } from "./tables/moved-run.ts";
import type { Transaction } from "./transaction.ts";

/** A store on a SQL database: every intent and every query, once for all of them. */
export class SqlStore extends SqlWebhooks implements contract.Store {
  readonly #work: WorkInProgress;
  readonly #after: StoreParts["after"];
  /** The generation of the owner under which each run was last confirmed; the first one, if it is not here. */
  readonly #confirmed = new Map<string, number>();
  #closing: Promise<void> | null = null;
  /** From then on nothing new begins; workers may still store the outcomes of effects in progress. */
  #isClosed = false;

  constructor(driver: Driver, { owners, work, leases, after }: StoreParts) {
    super(driver, owners, leases);
    this.#work = work;
    this.#after = after;
  }

  redactionKey(): Uint8Array {
    return this.driver.redactionKey();
  }

  async storeId(): Promise<string> {
    const known = await this.read(() => readStoreId());
    return known ?? this.act("storeId", null, identify);
  }

  async moveRun(runId: string, to: string): Promise<contract.RunMove> {
    // The event of the move names both stores.
    await this.storeId();
    await this.lookAtOwner(runId);
    const move = await this.act("moveRun", runId, (tx) => moveRun(tx, runId, to));
    this.leases.forget(runId);
    return move;
  }

  async beginArrival(arriving: contract.ArrivingRun): Promise<contract.ArrivalOutcome> {
    const runId = arrivals.runIdOf(arriving);
    await this.lookAtOwner(runId);
    return this.#take("beginArrival", runId, (tx) => arrivals.beginArrival(tx, arriving));
  }

  dropArrivingRows(fence: contract.Fence): Promise<boolean> {
    return this.#write("dropArrivingRows", fence.runId, (tx) => arrivals.dropArrivingRows(tx, fence));
  }

  storeArrivingRows(fence: contract.Fence, rows: readonly contract.BundleRow[]): Promise<void> {
    return this.#write("storeArrivingRows", fence.runId, (tx) => arrivals.storeArrivingRows(tx, fence, rows));
  }

  async finishArrival(fence: contract.Fence, blobs: number): Promise<contract.RunRecord> {
    const run = await this.#write("finishArrival", fence.runId, (tx) =>
      arrivals.finishArrival(tx, fence, blobs),
    );
    this.leases.forget(fence.runId);
    return run;
  }

  close({ graceMs = DEFAULT_GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#shutDown(graceMs);
    return this.#closing;
  }

  async #shutDown(graceMs: number): Promise<void> {
    this.#work.beginClosing(this.driver.name);
    await this.#work.idle((giveUp) => this.#after(graceMs, giveUp));
    const areLeasesReleased = await this.#releaseLeases();
    this.#isClosed = true;
    // The lock is freed when the process dies, or after its last effect. If the leases could not be released, only
    // its death frees it: until then no other process may claim the runs.
    const lock = areLeasesReleased ? "release" : "hold";
    if (this.#work.isIdle) await this.driver.close(lock);
    else void this.#work.idle().then(() => this.driver.close(lock));
  }

  async #releaseLeases(): Promise<boolean> {
    if (this.driver.isReadOnly) return true;
    try {
      const { owner } = this.owners;
      await this.#write("goodbye", null, function* (tx) {
        for (const fence of yield* interruption.runsOf(owner)) yield* interruption.interruptRun(tx, fence);
      });
      return true;
    } catch {
      return false;
    }
  }

  /** Ends as a killed process would, for tests of what that leaves behind. */
  async vanish(): Promise<void> {
    this.#closing ??= Promise.resolve();
    this.#isClosed = true;
    await this.driver.vanish();
  }

  createRun(run: contract.NewRun): ReturnType<contract.Store["createRun"]> {
    return this.#take("createRun", run.runId, (tx) => creation.createRun(tx, run));
  }

  async claimRun(runId: string, options: contract.ClaimOptions): Promise<contract.ClaimOutcome> {
    await this.lookAtOwner(runId);
    // Under a limit it has a transaction of its own: claims that share one would not see each other when they count.
    const shared = options.limits === undefined ? runId : null;
    const outcome = await this.#take("claimRun", shared, (tx) => runs.claimRun(tx, runId, options));
    if (outcome.kind === "claimed") this.leases.forget(runId);
    return outcome;
  }

  renewLease(fence: contract.Fence, leaseMs: number): Promise<void> {
    return this.#write("renewLease", fence.runId, (tx) => runs.renewLease(tx, fence, leaseMs));
  }

  async releaseRun(fence: contract.Fence, end: contract.RunEnd): Promise<void> {
    await this.#write("releaseRun", fence.runId, (tx) => runs.releaseRun(tx, fence, end));
    this.leases.forget(fence.runId);
  }

  async interruptRun(fence: contract.Fence): Promise<void> {
    await this.#write("interruptRun", fence.runId, (tx) => interruption.interruptRun(tx, fence));
    this.leases.forget(fence.runId);
  }

  attend(fence: contract.Fence): contract.Attendance {
    return this.#work.attend(fence);
  }

  async beginEffect(
    fence: contract.Fence,
    effect: contract.EffectAttempt,
  ): Promise<contract.EffectInProgress> {
    await this.#confirm(fence);
    const { end } = this.#work.begin(fence);
    const withdraw = () => {
      this.leases.withdraw(fence.runId, effect);
      end();
    };
    if (this.leases.mark(fence.runId, fence.epoch, effect)) return { end, withdraw };
    try {
      // The mark will be missing: that must be stored before anything is sent.
      await this.#write("turnMarksOff", fence.runId, (tx) => runs.turnMarksOff(tx, fence));
    } catch (error) {
      withdraw();
      throw error;
    }
    return { end, withdraw };
  }

  /** Nothing begins for a run that another process may have taken while it could not see this one. */
  async #confirm(fence: contract.Fence): Promise<void> {
    const { generation } = this.owners;
    if ((this.#confirmed.get(fence.runId) ?? FIRST_GENERATION) === generation) return;
    await this.owners.held();
    await this.#write("confirmLease", fence.runId, (tx) => runs.confirmLease(tx, fence));
    this.#confirmed.set(fence.runId, generation);
  }

  pinShape(fence: contract.Fence, shape: Json): Promise<void> {
    return this.#write("pinShape", fence.runId, (tx) => runs.pinShape(tx, fence, shape));
  }

  beginStep(fence: contract.Fence, step: contract.NewStep): Promise<contract.StepRecord> {
    return this.#write("beginStep", fence.runId, (tx) => steps.beginStep(tx, fence, step));
  }

  finishStep(fence: contract.Fence, step: contract.FinishedStep): ReturnType<contract.Store["finishStep"]> {
    return this.#write("finishStep", fence.runId, (tx) => steps.finishStep(tx, fence, step));
  }

  skipStep(fence: contract.Fence, step: contract.NewStep): Promise<void> {
    return this.#write("skipStep", fence.runId, (tx) => steps.skipStep(tx, fence, step));
  }

  decideLoop(fence: contract.Fence, decision: contract.LoopDecision): Promise<void> {
    return this.#write("decideLoop", fence.runId, (tx) => steps.decideLoop(tx, fence, decision));
  }

  openTurn(fence: contract.Fence, opening: contract.TurnOpening): Promise<contract.TurnOpened> {
    return this.#write("openTurn", fence.runId, (tx) => turns.openTurn(tx, fence, opening));
  }

  async settleModelCall(fence: contract.Fence, settled: contract.ModelCallSettlement): Promise<void> {
    await this.#write("settleModelCall", fence.runId, (tx) => turns.settleModelCall(tx, fence, settled));
    this.#settled(fence, settled, [MODEL_CALL]);
  }

  async journalResponse(fence: contract.Fence, journal: contract.TurnJournal): Promise<void> {
    await this.#write("journalResponse", fence.runId, (tx) => turns.journalResponse(tx, fence, journal));
    this.#settled(fence, journal, [MODEL_CALL]);
  }

  startToolCalls(fence: contract.Fence, start: contract.ToolCallStart): Promise<void> {
    return this.#write("startToolCalls", fence.runId, (tx) => calls.startToolCalls(tx, fence, start));
  }

  openToolCall(fence: contract.Fence, call: contract.CodeToolCall): Promise<number> {
    return this.#write("openToolCall", fence.runId, (tx) => calls.openToolCall(tx, fence, call));
  }

  async recordReceipt(fence: contract.Fence, record: contract.ReceiptRecord): Promise<void> {
    await this.#write("recordReceipt", fence.runId, (tx) => calls.recordReceipt(tx, fence, record));
    this.#settled(fence, record, [record.receipt.callIndex]);
  }

  correlateToolCall(fence: contract.Fence, id: contract.ToolCallCorrelation): Promise<void> {
    return this.#write("correlateToolCall", fence.runId, (tx) => correlateToolCall(tx, fence, id));
  }

  async endToolCallAttempt(fence: contract.Fence, end: contract.ToolCallAttemptEnd): Promise<void> {
    await this.#write("endToolCallAttempt", fence.runId, (tx) => calls.endToolCallAttempt(tx, fence, end));
    this.#settled(fence, end, [end.callIndex]);
  }

  offerLateReceipt(late: contract.LateReceipt): Promise<"settled" | "kept"> {
    return this.#write("offerLateReceipt", late.runId, (tx) => calls.offerLateReceipt(tx, late));
  }

  async commitTurn(
    fence: contract.Fence,
    commit: contract.TurnCommit,
  ): ReturnType<contract.Store["commitTurn"]> {
    const committed = await this.#write("commitTurn", fence.runId, (tx) =>
      turns.commitTurn(tx, fence, commit),
    );
    this.#settled(fence, commit, [MODEL_CALL, ...commit.receipts.map(({ callIndex }) => callIndex)]);
    return committed;
  }

  endExchange(fence: contract.Fence, end: contract.ExchangeEnd): Promise<void> {
    return this.#write("endExchange", fence.runId, (tx) => endExchange(tx, fence, end));
  }

  openSummary(
    fence: contract.Fence,
    opening: contract.SummaryOpening,
  ): ReturnType<contract.Store["openSummary"]> {
    return this.#write("openSummary", fence.runId, (tx) => compaction.openSummary(tx, fence, opening));
  }

  compactHistory(fence: contract.Fence, compacted: contract.Compaction): Promise<void> {
    return this.#write("compactHistory", fence.runId, (tx) =>
      compaction.compactHistory(tx, fence, compacted),
    );
  }

  saveCheckpoint(fence: contract.Fence, late: contract.LateCheckpoint): Promise<number> {
    return this.#write("saveCheckpoint", fence.runId, (tx) => saveCheckpoint(tx, fence, late));
  }

  beginLineage(fence: contract.Fence, lineage: contract.NewLineage): Promise<number> {
    return this.#write("beginLineage", fence.runId, (tx) => beginLineage(tx, fence, lineage));
  }

  acceptDivergence(fence: contract.Fence, accepted: contract.AcceptedDivergence): Promise<void> {
    return this.#write("acceptDivergence", fence.runId, (tx) => turns.acceptDivergence(tx, fence, accepted));
  }

  keepTrace(fence: contract.Fence, traceParent: string): Promise<void> {
    return this.#write("keepTrace", fence.runId, (tx) => runs.keepTrace(tx, fence, traceParent));
  }

  dropTurn(fence: contract.Fence, dropped: contract.DroppedTurn): Promise<void> {
    return this.#write("dropTurn", fence.runId, (tx) => dropTurn(tx, fence, dropped));
  }

  async forkRun(fork: contract.NewFork): Promise<contract.RunRecord> {
    await this.lookAtOwner(fork.parent);
    return this.act("forkRun", null, (tx) => forkRun(tx, fork));
  }

  beginWork(worker: string, request: contract.WorkerRequest): Promise<contract.WorkerRequest> {
    return this.act("beginWork", null, (tx) => workers.beginWork(tx, worker, request));
  }

  completeWork(worker: string, runId: string): Promise<void> {
    return this.act("completeWork", null, (tx) => workers.completeWork(tx, worker, runId));
  }

  approve(waitId: string, person: contract.Person = {}): Promise<void> {
    return this.act("approve", runOfWait(waitId), (tx) => waits.approve(tx, waitId, person));
  }

  deny(waitId: string, why: string, person: contract.Person = {}): Promise<void> {
    return this.act("deny", runOfWait(waitId), (tx) => waits.deny(tx, waitId, why, person));
  }

  answer(waitId: string, value: Json, person: contract.Person = {}): Promise<void> {
    return this.act("answer", runOfWait(waitId), (tx) => waits.answer(tx, waitId, value, person));
  }

  settle(toolCallId: string, settlement: Settlement, person: contract.Person = {}): Promise<void> {
    return this.act("settle", runOfCall(toolCallId), (tx) =>
      waits.settle(tx, toolCallId, settlement, person),
    );
  }

  keepArtifact(fence: contract.Fence, artifact: contract.NewArtifact): Promise<contract.ArtifactRecord> {
    return this.#write("keepArtifact", fence.runId, (tx) => artifacts.keepArtifact(tx, fence, artifact));
  }

  async requestCancel(runId: string, by: contract.Person = {}): Promise<contract.CancelOutcome> {
    await this.lookAtOwner(runId);
    return this.act("requestCancel", runId, (tx) => interruption.requestCancel(tx, runId, by));
  }

  async deleteRun(runId: string, deletion: contract.RunDeletion): Promise<contract.Tombstone> {
    await this.lookAtOwner(runId);
    const stone = await this.act("deleteRun", runId, (tx) => deleteRun(tx, runId, deletion));
    this.leases.forget(runId);
    this.live.forget(runId);
    return stone;
  }

  collectBlobs(policy: contract.BlobRetention): Promise<contract.BlobCollection> {
    return this.act("collectBlobs", null, (tx) => collectBlobs(tx, policy));
  }

  protected override get isOver(): boolean {
    return this.#isClosed && this.#work.isIdle;
  }

  /** A commit has settled these calls of a turn: their marks are no longer needed. */
  #settled(
    { runId }: contract.Fence,
    { stepKey, turnIndex }: { readonly stepKey: number; readonly turnIndex: number },
    callIndexes: readonly number[],
  ): void {
    for (const callIndex of callIndexes) this.leases.retire(runId, { stepKey, turnIndex, callIndex });
  }

  /** For an intent that makes its caller a worker: refused once the store is closing. */
  #take<T>(intent: string, runId: string | null, script: (tx: Transaction) => SqlScript<T>): Promise<T> {
    if (this.#work.closing.aborted) return Promise.reject(closedError(this.driver.name));
    return this.act(intent, runId, script);
  }

  /** For an intent of a caller that is not a worker: refused once the store is closed. */
  protected override act<T>(
    intent: string,
    runId: string | null,
    script: (tx: Transaction) => SqlScript<T>,
  ): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedError(this.driver.name));
    return this.#write(intent, runId, script);
  }

  /** For an intent of a worker: its fence decides. */
  async #write<T>(
    intent: string,
    runId: string | null,
    script: (tx: Transaction) => SqlScript<T>,
  ): Promise<T> {
    const result = await this.driver.write(intent, runId, script);
    if (mayWake(intent)) this.driver.announce();
    return result;
  }
}

const DEFAULT_GRACE_MS = 5_000;
const FIRST_GENERATION = 1;
