import { realpathSync } from "node:fs";
import type { Json } from "../../core/json.ts";
import type { Settlement } from "../../core/wait.ts";
import type * as contract from "../store.ts";
import { WorkInProgress } from "../work-in-progress.ts";
import { Database } from "./database.ts";
import { MIGRATIONS } from "./embedded-migrations.ts";
import { type CommitObserver, closedError, GroupCommit } from "./group-commit.ts";
import { dropTurn } from "./intents/drop-turn-intent.ts";
import { forkRun } from "./intents/fork-intents.ts";
import { beginLineage } from "./intents/lineage-intents.ts";
import * as runs from "./intents/run-intents.ts";
import * as interruption from "./intents/run-interruption.ts";
import * as steps from "./intents/step-intents.ts";
import { correlateToolCall } from "./intents/tool-call-correlation.ts";
import * as calls from "./intents/tool-call-intents.ts";
import * as turns from "./intents/turn-intents.ts";
import * as waits from "./intents/wait-answers.ts";
import * as workers from "./intents/worker-intents.ts";
import { Leases } from "./leases.ts";
import { migrate, newerSchema, schemaVersion } from "./migrate.ts";
import { type Doorbell, OwnerFiles, OwnerLock } from "./owner-lock.ts";
import { RedactionKey } from "./redaction-key.ts";
import { MODEL_CALL, SentMarks } from "./sent-marks.ts";
import { readOnlyError } from "./sqlite-error.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import * as artifacts from "./tables/artifact-rows.ts";
import { collectBlobs } from "./tables/blob-rows.ts";
import { whileBusy } from "./while-busy.ts";

export type SqliteStoreOptions = {
  /** Milliseconds since 1970; for tests. By default the time of the system. */
  readonly now?: () => number;
  /** A monotonic clock in milliseconds, used to watch the leases of others; for tests. By default that of the system. */
  readonly monotonic?: () => number;
  /** Calls back after so many milliseconds; the returned function cancels that. For tests; by default a timer of Node. */
  readonly after?: (ms: number, callback: () => void) => () => void;
  /** Called after every commit, for measurements. */
  readonly onCommit?: CommitObserver;
  /** Replaces the system's sockets, for simulated machines in tests. */
  readonly doorbell?: Doorbell;
};

/** The store on one SQLite file: the default. Processes on the same machine may share the file. */
export class SqliteStore extends SqliteReader implements contract.Store {
  readonly #commits: GroupCommit;
  readonly #marks: SentMarks | null;
  readonly #work: WorkInProgress;
  readonly #redactionKey: RedactionKey;
  readonly #after: NonNullable<SqliteStoreOptions["after"]>;
  #closing: Promise<void> | null = null;
  /** From then on nothing new begins; workers may still store the outcomes of effects in progress. */
  #isClosed = false;

  private constructor(database: Database, lock: OwnerLock, options: SqliteStoreOptions) {
    const work = new WorkInProgress();
    const marks = makeMarks(database, lock);
    const leases = new Leases(lock, work, {
      marks,
      database: pathOf(database),
      monotonic: options.monotonic ?? (() => performance.now()),
    });
    super(database, lock, leases, options.now ?? Date.now);
    this.#work = work;
    this.#marks = marks;
    this.#redactionKey = new RedactionKey(pathOf(database));
    this.#after = options.after ?? afterMs;
    this.#commits = new GroupCommit(database, options.onCommit ?? (() => undefined), () =>
      this.schema.assertWritable(),
    );
  }

  /** Opens or creates the file. Waits for another process that is doing the same. */
  static async open(file: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
    const database = await whileBusy(file, () => Database.open(file));
    try {
      await whileBusy(file, () => migrate(database, (options.now ?? Date.now)()));
      const lock = await OwnerLock.take(file, options.doorbell);
      try {
        await lock.sweep((ownerId) => interruption.isNeeded(database, ownerId));
        return new SqliteStore(database, lock, options);
      } catch (error) {
        await lock.release();
        throw error;
      }
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Opens the file for reading; null if it has to be opened for writing first, to create or migrate it. */
  static async openReadOnly(file: string, options: SqliteStoreOptions = {}): Promise<SqliteStore | null> {
    const database = await whileBusy(file, () => Database.openReadOnly(file));
    if (database === null) return null;
    try {
      const version = await whileBusy(file, () => schemaVersion(database));
      const known = MIGRATIONS.length;
      if (version > known) throw newerSchema(database, version, known);
      if (version === known) {
        const store = new SqliteStore(database, OwnerLock.watch(file), options);
        await store.read(() => undefined);
        return store;
      }
    } catch (error) {
      database.close();
      throw error;
    }
    database.close();
    return null;
  }

  redactionKey(): Uint8Array {
    return this.#redactionKey.get(this.database);
  }

  close({ graceMs = DEFAULT_GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#shutDown(graceMs);
    return this.#closing;
  }

  async #shutDown(graceMs: number): Promise<void> {
    this.#work.beginClosing(this.database.file);
    await this.#work.idle((giveUp) => this.#after(graceMs, giveUp));
    const areLeasesReleased = await this.#releaseLeases();
    this.#isClosed = true;
    // The lock is freed when the process dies, or after its last effect. If the leases could not be released, only
    // its death frees it: until then no other process may claim the runs.
    const lock = areLeasesReleased ? "release" : "hold";
    if (this.#work.isIdle) await this.#end(lock);
    else void this.#work.idle().then(() => this.#end(lock));
  }

  async #releaseLeases(): Promise<boolean> {
    if (this.database.isReadOnly) return true;
    try {
      await this.#write("goodbye", (now) => {
        for (const fence of interruption.runsOf(this.database, this.lock.owner))
          interruption.interruptRun(this.database, this.leases, now, fence);
      });
      return true;
    } catch {
      return false;
    }
  }

  async #end(lock: "release" | "hold"): Promise<void> {
    this.#commits.close();
    this.#marks?.close();
    this.database.close();
    if (lock === "release") await this.lock.release();
  }

  /** Ends as a killed process would, for tests of what that leaves behind. */
  async vanish(): Promise<void> {
    this.#closing ??= Promise.resolve();
    this.#isClosed = true;
    this.#commits.abandon();
    this.#marks?.close();
    this.database.vanish();
    await this.lock.vanish();
  }

  createRun(run: contract.NewRun): ReturnType<contract.Store["createRun"]> {
    return this.#take("createRun", (now) => runs.createRun(this.database, this.leases, now, run));
  }

  async claimRun(runId: string, options: contract.ClaimOptions): Promise<contract.ClaimOutcome> {
    await this.lookAtOwner(runId);
    const outcome = await this.#take("claimRun", (now) =>
      runs.claimRun(this.database, this.leases, now, runId, options),
    );
    if (outcome.kind === "claimed") this.leases.forget(runId);
    return outcome;
  }

  renewLease(fence: contract.Fence, leaseMs: number): Promise<void> {
    return this.#write("renewLease", (now) => runs.renewLease(this.database, now, fence, leaseMs));
  }

  async releaseRun(fence: contract.Fence, end: contract.RunEnd): Promise<void> {
    await this.#write("releaseRun", (now) => runs.releaseRun(this.database, this.leases, now, fence, end));
    this.leases.forget(fence.runId);
  }

  async interruptRun(fence: contract.Fence): Promise<void> {
    await this.#write("interruptRun", (now) =>
      interruption.interruptRun(this.database, this.leases, now, fence),
    );
    this.leases.forget(fence.runId);
  }

  attend(fence: contract.Fence): contract.Attendance {
    return this.#work.attend(fence);
  }

  async beginEffect(
    fence: contract.Fence,
    effect: contract.EffectAttempt,
  ): Promise<contract.EffectInProgress> {
    const { end } = this.#work.begin(fence);
    const withdraw = () => {
      this.leases.withdraw(fence.runId, effect);
      end();
    };
    if (this.leases.mark(fence.runId, fence.epoch, effect)) return { end, withdraw };
    try {
      // The mark will be missing: that must be stored before anything is sent.
      await this.#write("turnMarksOff", (now) => runs.turnMarksOff(this.database, now, fence));
    } catch (error) {
      withdraw();
      throw error;
    }
    return { end, withdraw };
  }

  pinShape(fence: contract.Fence, shape: Json): Promise<void> {
    return this.#write("pinShape", (now) => runs.pinShape(this.database, now, fence, shape));
  }

  beginStep(fence: contract.Fence, step: contract.NewStep): Promise<contract.StepRecord> {
    return this.#write("beginStep", (now) => steps.beginStep(this.database, now, fence, step));
  }

  finishStep(fence: contract.Fence, step: contract.FinishedStep): ReturnType<contract.Store["finishStep"]> {
    return this.#write("finishStep", (now) => steps.finishStep(this.database, now, fence, step));
  }

  skipStep(fence: contract.Fence, step: contract.NewStep): Promise<void> {
    return this.#write("skipStep", (now) => steps.skipStep(this.database, now, fence, step));
  }

  decideLoop(fence: contract.Fence, decision: contract.LoopDecision): Promise<void> {
    return this.#write("decideLoop", (now) => steps.decideLoop(this.database, now, fence, decision));
  }

  openTurn(fence: contract.Fence, opening: contract.TurnOpening): Promise<contract.TurnOpened> {
    return this.#write("openTurn", (now) => turns.openTurn(this.database, now, fence, opening));
  }

  async settleModelCall(fence: contract.Fence, settled: contract.ModelCallSettlement): Promise<void> {
    await this.#write("settleModelCall", (at) => turns.settleModelCall(this.database, at, fence, settled));
    this.#settled(fence, settled, [MODEL_CALL]);
  }

  async journalResponse(fence: contract.Fence, journal: contract.TurnJournal): Promise<void> {
    await this.#write("journalResponse", (at) => turns.journalResponse(this.database, at, fence, journal));
    this.#settled(fence, journal, [MODEL_CALL]);
  }

  startToolCalls(fence: contract.Fence, start: contract.ToolCallStart): Promise<void> {
    return this.#write("startToolCalls", (now) => calls.startToolCalls(this.database, now, fence, start));
  }

  openToolCall(fence: contract.Fence, call: contract.CodeToolCall): Promise<number> {
    return this.#write("openToolCall", (now) => calls.openToolCall(this.database, now, fence, call));
  }

  async recordReceipt(fence: contract.Fence, record: contract.ReceiptRecord): Promise<void> {
    await this.#write("recordReceipt", (now) => calls.recordReceipt(this.database, now, fence, record));
    this.#settled(fence, record, [record.receipt.callIndex]);
  }

  correlateToolCall(fence: contract.Fence, id: contract.ToolCallCorrelation): Promise<void> {
    return this.#write("correlateToolCall", (now) => correlateToolCall(this.database, now, fence, id));
  }

  async endToolCallAttempt(fence: contract.Fence, end: contract.ToolCallAttemptEnd): Promise<void> {
    await this.#write("endToolCallAttempt", (now) =>
      calls.endToolCallAttempt(this.database, now, fence, end),
    );
    this.#settled(fence, end, [end.callIndex]);
  }

  offerLateReceipt(late: contract.LateReceipt): Promise<"settled" | "kept"> {
    return this.#write("offerLateReceipt", (now) => calls.offerLateReceipt(this.database, now, late));
  }

  async commitTurn(
    fence: contract.Fence,
    commit: contract.TurnCommit,
  ): ReturnType<contract.Store["commitTurn"]> {
    const committed = await this.#write("commitTurn", (now) =>
      turns.commitTurn(this.database, now, fence, commit),
    );
    this.#settled(fence, commit, [MODEL_CALL, ...commit.receipts.map(({ callIndex }) => callIndex)]);
    return committed;
  }

  beginLineage(fence: contract.Fence, lineage: contract.NewLineage): Promise<number> {
    return this.#write("beginLineage", (now) => beginLineage(this.database, now, fence, lineage));
  }

  acceptDivergence(fence: contract.Fence, accepted: contract.AcceptedDivergence): Promise<void> {
    return this.#write("acceptDivergence", (at) =>
      turns.acceptDivergence(this.database, at, fence, accepted),
    );
  }

  keepTrace(fence: contract.Fence, traceParent: string): Promise<void> {
    return this.#write("keepTrace", (now) => runs.keepTrace(this.database, now, fence, traceParent));
  }

  dropTurn(fence: contract.Fence, dropped: contract.DroppedTurn): Promise<void> {
    return this.#write("dropTurn", (now) => dropTurn(this.database, now, fence, dropped));
  }

  async forkRun(fork: contract.NewFork): Promise<contract.RunRecord> {
    await this.lookAtOwner(fork.parent);
    return this.#act("forkRun", (now) => forkRun(this.database, this.leases, now, fork));
  }

  beginWork(worker: string, request: contract.WorkerRequest): Promise<contract.WorkerRequest> {
    return this.#act("beginWork", () => workers.beginWork(this.database, worker, request));
  }

  completeWork(worker: string, runId: string): Promise<void> {
    return this.#act("completeWork", (now) => workers.completeWork(this.database, now, worker, runId));
  }

  approve(waitId: string, person: contract.Person = {}): Promise<void> {
    return this.#act("approve", (now) => waits.approve(this.database, now, waitId, person));
  }

  deny(waitId: string, why: string, person: contract.Person = {}): Promise<void> {
    return this.#act("deny", (now) => waits.deny(this.database, now, waitId, why, person));
  }

  answer(waitId: string, value: Json, person: contract.Person = {}): Promise<void> {
    return this.#act("answer", (now) => waits.answer(this.database, now, waitId, value, person));
  }

  settle(toolCallId: string, settlement: Settlement, person: contract.Person = {}): Promise<void> {
    return this.#act("settle", (now) => waits.settle(this.database, now, toolCallId, settlement, person));
  }

  keepArtifact(fence: contract.Fence, artifact: contract.NewArtifact): Promise<contract.ArtifactRecord> {
    return this.#write("keepArtifact", (now) => artifacts.keepArtifact(this.database, now, fence, artifact));
  }

  async requestCancel(runId: string, by: contract.Person = {}): Promise<contract.CancelOutcome> {
    await this.lookAtOwner(runId);
    return this.#act("requestCancel", (at) =>
      interruption.requestCancel(this.database, this.leases, at, runId, by),
    );
  }

  collectBlobs(policy: contract.BlobRetention): Promise<contract.BlobCollection> {
    return this.#act("collectBlobs", (now) => collectBlobs(this.database, now, policy));
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
  #take<T>(intent: string, work: (now: number) => T): Promise<T> {
    if (this.#work.closing.aborted) return Promise.reject(closedError(this.database.file));
    return this.#act(intent, work);
  }

  /** For an intent of a caller that is not a worker: refused once the store is closed. */
  #act<T>(intent: string, work: (now: number) => T): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedError(this.database.file));
    return this.#write(intent, work);
  }

  /** For an intent of a worker: its fence decides. */
  #write<T>(intent: string, work: (now: number) => T): Promise<T> {
    if (this.database.isReadOnly) return Promise.reject(readOnlyError(this.database.file, null));
    return this.#commits.submit(intent, () => work(this.now()));
  }
}

const DEFAULT_GRACE_MS = 5_000;

function afterMs(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

/** The real path of the database: other processes look for its sidecar files there. */
function pathOf({ file }: Database): string {
  return file === ":memory:" ? file : realpathSync(file);
}

/** Marks are useful only with a lock that shows whether their owner lives. */
function makeMarks(database: Database, lock: OwnerLock): SentMarks | null {
  if (lock.id === null || !lock.isHeld) return null;
  return SentMarks.make(new OwnerFiles(pathOf(database)).marksFile(lock.id));
}
