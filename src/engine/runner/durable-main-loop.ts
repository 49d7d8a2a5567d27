import { backoffMs } from "../../core/backoff.ts";
import { assertJson, canonicalJson } from "../../core/canonical-json.ts";
import {
  CheckpointStoreError,
  DeadlineExceededError,
  ModelCallError,
  PawlError,
  ResumeError,
  RunBusyError,
  SnapshotRestoreError,
  StoreUnavailableError,
} from "../../core/errors.ts";
import { type Json, withoutUndefined } from "../../core/json.ts";
import { reviveError } from "../../core/stored-error.ts";
import { needsCorrection, rejectsHistory } from "../../core/turn/model-retry.ts";
import { Session } from "../../session/session.ts";
import { Snapshot } from "../../session/snapshot.ts";
import type { CheckpointStore, WorkerCheckpoint, WorkerRequest } from "../../store/checkpoint-store.ts";
import { withStore } from "../../store/open-store.ts";
import type { RunRecord, Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import { rootOf } from "../definition/pipeline-root.ts";
import { makeRules } from "../definition/run-rules.ts";
import { type GranularStep, isAgentStep, type StepNode, type WiredStep } from "../definition/step.ts";
import type { Clock } from "../ports/clock.ts";
import type { RunResult } from "../ports/run-result.ts";
import { systemClock } from "../ports/system-clock.ts";
import { Deadline, deadlineError } from "../run/deadline.ts";
import type { SavedCheckpoint } from "../run/milestone-request.ts";
import { outageWarnings } from "../run/outage-warnings.ts";
import {
  assertExecuteOptions,
  assertLoopOptions,
  type DurableMainLoopOptions,
  type ExecuteOptions,
  runnerOptionsOf,
} from "./durable-loop-options.ts";
import { HistoryRestarts } from "./history-restarts.ts";
import { newRunId } from "./new-run-id.ts";
import { withRunId } from "./run-checks.ts";
import { loadRequests, Runner } from "./runner.ts";
import type { RunSessionOptions } from "./runner-options.ts";
import { type ResumeOptions, type RunInput, sessionOptions } from "./runner-options.ts";

/** The result of `DurableMainLoop.execute`: that of its run, with the request. */
export type ExecuteResult<O> = RunResult<O> & {
  /** The request that was executed: the stored one, if the worker resumed it. */
  readonly request: Json;
};

/**
 * Executes one request at a time, as a worker whose identity outlives its processes. Killed and started again, it resumes
 * the request that it has not completed from its last milestone, with the prompt, model and tools as they are now. Calls
 * with a receipt are not made again. Failures that can pass are retried until the deadline; a wrong key, for example,
 * ends the attempt, and the next process continues after its last turn.
 *
 * @example
 * const loop = new DurableMainLoop(worker, { store, checkpoints: new FileCheckpointStore("workers/worker-001") });
 * const { output } = await loop.execute({ objective: "Migrate the wiki" }, { deadline: Deadline.in(3_600_000) });
 */
export class DurableMainLoop<O = unknown, I = Json> {
  readonly #target: Agent<O> | StepNode<O>;
  readonly #options: DurableMainLoopOptions;
  readonly #checkpoints: CheckpointStore;
  readonly #session: RunSessionOptions;
  readonly #clock: Clock;
  readonly #warn: (message: string) => void;

  constructor(target: Agent<O> | WiredStep<O, I>, options: DurableMainLoopOptions) {
    assertLoopOptions(options);
    this.#target = target;
    this.#options = options;
    this.#checkpoints = options.checkpoints;
    this.#session = sessionOptions(rootOf(target), options);
    this.#clock = options.clock ?? systemClock;
    this.#warn = options.warn ?? ((message) => process.emitWarning(message));
  }

  /**
   * Resumes the request that was not completed, or begins this one. An uncompleted request comes first: then the one given
   * here is not executed. `result.request` is the request that was executed.
   */
  async execute(request: RunInput<I>, options: ExecuteOptions = {}): Promise<ExecuteResult<O>> {
    const given = withoutUndefined(request);
    assertJson(given, "The request");
    assertExecuteOptions(options);
    const release = await this.#checkpoints.acquire(this.#options.warn);
    try {
      return await withStore(this.#options.store, (store) => this.#execute(store, given, options));
    } finally {
      await release();
    }
  }

  async #execute(store: Store, request: Json, options: ExecuteOptions): Promise<ExecuteResult<O>> {
    const work = await this.#begin(store, request, options);
    const restarts = new HistoryRestarts();
    const runner = this.#runner(store, () => restarts.addMilestone());
    let cause: unknown;
    for (let attempts = 1; ; attempts++) {
      try {
        const attempt = () => this.#attempt(store, runner, work, options);
        const result = await this.#outlastStalledOwner(store, work, attempt, options.signal);
        if (result.status === "succeeded") await this.#checkpoints.markCompleted(work.runId);
        return { ...result, request: work.request };
      } catch (error) {
        // The error that used up the time is what the caller needs to know.
        if (DeadlineExceededError.isInstance(error)) error.cause ??= cause;
        if (!(await this.#mayTryAgain(error, attempts, work, options)) || !restarts.take(error)) throw error;
        cause = error;
        await this.#clock.sleep(backoffMs(attempts, (this.#options.random ?? Math.random)()), options.signal);
      }
    }
  }

  /**
   * Makes the attempt again while another process holds the run with an expired lease. A process that renews its lease is
   * at work, and this one gives up. One that does not counts as gone after it was watched for the length of a lease.
   */
  async #outlastStalledOwner<T>(
    store: Store,
    { runId }: WorkerRequest,
    attempt: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { leaseMs = 30_000 } = this.#options;
    const until = this.#clock.monotonic() + leaseMs + WATCH_POLL_MS;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!RunBusyError.isInstance(error) || this.#clock.monotonic() >= until) throw error;
        const run = await store.getRun(runId);
        if (run === null || run.leaseUntil > this.#clock.now()) throw error;
      }
      await this.#clock.sleep(WATCH_POLL_MS, signal);
    }
  }

  /** The request to execute: the one that is not completed, or this one, which is stored before anything is done. */
  async #begin(store: Store, request: Json, { deadline }: ExecuteOptions): Promise<WorkerRequest> {
    const isCompleted = await this.#checkpoints.isCompleted();
    const kept = isCompleted
      ? null
      : ((await this.#checkpoints.loadRequest()) ?? (await this.#requestOfCheckpoint(store)));
    if (kept !== null) {
      if (canonicalJson(kept.request) !== canonicalJson(request))
        this.#warn(
          `Worker ${this.#checkpoints.worker} resumes the request that it has not completed (run ${kept.runId}); the one given now was not begun.`,
        );
      return kept;
    }
    await this.#assertAcceptable(request);
    await this.#checkpoints.begin({
      runId: newRunId(),
      request,
      createdAt: this.#clock.now(),
      deadline: deadline?.at ?? null,
    });
    // Read back: another process may have been faster, in a store that lets only one begin.
    const begun = await this.#checkpoints.loadRequest();
    if (begun === null)
      throw new Error(`The request of worker ${this.#checkpoints.worker} was stored and is gone.`);
    return begun;
  }

  /** Called before the request is stored: one that no run can begin with would block every later one. */
  async #assertAcceptable(request: Json): Promise<void> {
    const { assertNoSecrets } = await loadRequests();
    assertNoSecrets(request, makeRules(this.#options.policy, this.#options.constraints));
    const first = firstAgentStep(rootOf(this.#target));
    if (first === null || first.options.input !== undefined) return;
    const { slices } = this.#session;
    const session = new Session({ id: "check", createdAt: this.#clock.now(), slices });
    first.agent.prompt.render(session, request);
  }

  /**
   * Gives up the request that was not completed, so that the next one can begin. Its run stays as it is, and
   * `runner.resume` can still resume it. Resolves to the request that was given up, or null.
   */
  async giveUp(): Promise<WorkerRequest | null> {
    const release = await this.#checkpoints.acquire(this.#options.warn);
    try {
      const kept = (await this.#checkpoints.isCompleted()) ? null : await this.#checkpoints.loadRequest();
      if (kept !== null) await this.#checkpoints.markCompleted(kept.runId);
      return kept;
    } finally {
      await release();
    }
  }

  /** Restores a request that was lost: the checkpoint's session has the run id, and the store has the run's input. */
  async #requestOfCheckpoint(store: Store): Promise<WorkerRequest | null> {
    const checkpoint = await this.#checkpoints.loadCheckpoint();
    if (checkpoint === null) return null;
    const runId = sessionIdOf(checkpoint);
    const run = runId === null ? null : await store.getRun(runId);
    if (run === null) {
      const where = await this.#checkpoints.setCheckpointAside();
      this.#warn(
        `Worker ${this.#checkpoints.worker} has a checkpoint and no request, and this store does not know its run: it starts fresh${where === null ? "" : `, and the checkpoint is kept as ${where}`}.`,
      );
      return null;
    }
    const { input } = await store.readRunInput(run.runId);
    return { runId: run.runId, request: input, createdAt: run.createdAt, deadline: run.deadline };
  }

  async #attempt(
    store: Store,
    runner: Runner<O>,
    work: WorkerRequest,
    { signal, budget }: ExecuteOptions,
  ): Promise<RunResult<O>> {
    const { runId, request } = work;
    const run = await store.getRun(runId);
    const limits = {
      ...(signal === undefined ? {} : { signal }),
      ...(budget === undefined ? {} : { budget }),
    };
    if (run?.status === "succeeded") return runner.run(request, { runId });
    const deadline = run === null ? work.deadline : run.deadline;
    const late = deadlineError(runId, { deadline, clock: this.#clock });
    if (late !== null) throw withRunId(runId, late);
    if (run === null) {
      await this.#assertNothingDone(work);
      return runner.run(request, {
        ...limits,
        runId,
        ...(work.deadline === null ? {} : { deadline: new Deadline(work.deadline) }),
      });
    }
    return this.#resume(runner, run, limits);
  }

  /** Throws if there is a checkpoint of a run that is not in this store: without its ledger, effects could happen twice. */
  async #assertNothingDone({ runId }: WorkerRequest): Promise<void> {
    if ((await this.#checkpoints.loadCheckpoint()) === null) return;
    throw new CheckpointStoreError(
      `Worker ${this.#checkpoints.worker} has a checkpoint of run ${runId}, which is not in this store: open the store that it was made with, or give the run up with \`giveUp()\`.`,
      { reason: "unknown_run", paths: [] },
    );
  }

  async #resume(
    runner: Runner<O>,
    run: RunRecord,
    limits: Pick<ResumeOptions, "signal" | "budget">,
  ): Promise<RunResult<O>> {
    const { runId } = run;
    if (canResumeFromTurn(run)) {
      try {
        return await runner.resume(runId, limits);
      } catch (error) {
        if (!ResumeError.isInstance(error) || !error.irrecoverable) throw error;
      }
    }
    return runner.resume(runId, { ...limits, from: await this.#lastMilestone() });
  }

  /** The stored checkpoint. One that is corrupt, or does not fit with `onSliceMismatch: "fresh"`, is set aside. */
  async #lastMilestone(): Promise<SavedCheckpoint | "beginning"> {
    const checkpoint = await this.#checkpoints.loadCheckpoint();
    if (checkpoint === null) return "beginning";
    try {
      this.#assertFits(checkpoint);
      return checkpoint;
    } catch (error) {
      if (!SnapshotRestoreError.isInstance(error)) throw error;
      const { mismatch } = this.#session;
      const isCorrupt = error.details.reason === "bad_json";
      if (typeof mismatch === "function" && !isCorrupt) return checkpoint;
      if (mismatch === "stop" && !isCorrupt) throw error;
      const where = await this.#checkpoints.setCheckpointAside();
      this.#warn(
        `The checkpoint of worker ${this.#checkpoints.worker} cannot be restored (${error.message}): the work starts from the beginning, and calls with a receipt are not made again${where === null ? "" : `; the checkpoint is kept as ${where}`}.`,
      );
      return "beginning";
    }
  }

  #assertFits({ snapshot }: WorkerCheckpoint): void {
    const session = new Session({ id: "check", createdAt: 0, slices: this.#session.slices });
    session.restored(Snapshot.fromJSON(snapshot));
  }

  #runner(store: Store, onMilestone: () => void): Runner<O> {
    const options = runnerOptionsOf(this.#options);
    let isWarned = false;
    const warnOfOutage = outageWarnings(this.#warn, options.maxOutageMs);
    return new Runner(this.#target, {
      ...options,
      store,
      entrypoint: `worker:${this.#checkpoints.worker}`,
      onEvent: (event) => {
        if (event.type === "warning") this.#warn(event.message);
        warnOfOutage(event);
        options.onEvent?.(event);
      },
      onCheckpoint: async (checkpoint) => {
        try {
          await this.#checkpoints.persistCheckpoint(checkpoint);
          isWarned = false;
          onMilestone();
        } catch (error) {
          if (!isWarned) this.#warn(notWritten(this.#checkpoints.worker, error));
          isWarned = true;
        }
      },
    });
  }

  /** True if there is a checkpoint to resume from, time is left, and the error may not happen again. */
  async #mayTryAgain(
    error: unknown,
    attempts: number,
    work: WorkerRequest,
    { signal }: ExecuteOptions,
  ): Promise<boolean> {
    if (work.deadline === null || this.#clock.now() >= work.deadline || signal?.aborted === true)
      return false;
    // Busy after an attempt of our own: its lease could not be released, and will expire.
    const isRetryable = isWorthRetrying(error) || (attempts > 1 && RunBusyError.isInstance(error));
    return isRetryable && (await this.#mayHaveCheckpoint());
  }

  /** True as well while the store is unavailable: it may be back before the deadline. */
  async #mayHaveCheckpoint(): Promise<boolean> {
    try {
      return await this.#checkpoints.hasIncomplete();
    } catch (error) {
      return StoreUnavailableError.isInstance(error);
    }
  }
}

/** How often a worker checks whether the process that holds its run has renewed the lease. */
const WATCH_POLL_MS = 1_000;

/** The agent that gets the request itself; null if another kind of step gets it. */
function firstAgentStep(step: StepNode): GranularStep | null {
  if (isAgentStep(step)) return step;
  const [first] = step.children ?? [];
  return first === undefined || step.kind === "loop" ? null : firstAgentStep(first);
}

/** True for errors that a new attempt may avoid: of a provider, of a store, or of an agent gone astray. */
function isWorthRetrying(error: unknown): boolean {
  if (ModelCallError.isInstance(error))
    return rejectsHistory(error.details) || !needsCorrection(error.details);
  return (
    PawlError.isInstance(error) &&
    (error.recoverable || ["step_failed", "max_turns_exceeded"].includes(error.code)) &&
    !["paused", "run_busy"].includes(error.code)
  );
}

/**
 * True if the run resumes after its last turn, not from a milestone. If a person was asked about a call of the open turn,
 * abandoning that turn would lose the answer. Unless the provider rejected the history, the turns since the milestone are
 * good, and paid for.
 */
function canResumeFromTurn({ status, error }: RunRecord): boolean {
  if (status === "queued" || status === "waiting") return true;
  if (status !== "failed" || error === null) return false;
  const failure = reviveError(error);
  return ModelCallError.isInstance(failure)
    ? !rejectsHistory(failure.details)
    : StoreUnavailableError.isInstance(failure);
}

function sessionIdOf({ snapshot }: WorkerCheckpoint): string | null {
  try {
    return Snapshot.fromJSON(snapshot).session.id;
  } catch {
    return null;
  }
}

function notWritten(worker: string, error: unknown): string {
  const why = (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
  return `The checkpoint of worker ${worker} could not be written: ${why}. The run continues; after a crash it resumes from the milestone before.`;
}
