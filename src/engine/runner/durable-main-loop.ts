import { v7 as uuidv7 } from "uuid";
import { backoffMs } from "../../core/backoff.ts";
import { assertJson, canonicalJson } from "../../core/canonical-json.ts";
import {
  CheckpointStoreError,
  DeadlineExceededError,
  ModelCallError,
  PawlError,
  ResumeError,
  RunBusyError,
  reviveError,
  SnapshotRestoreError,
  StoreUnavailableError,
} from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { Session } from "../../session/session.ts";
import { Snapshot } from "../../session/snapshot.ts";
import type { CheckpointStore, WorkerCheckpoint, WorkerRequest } from "../../store/checkpoint-store.ts";
import { withStore } from "../../store/open-store.ts";
import type { RunRecord, Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import { rootOf } from "../definition/pipeline-root.ts";
import { makeRules } from "../definition/run-rules.ts";
import { type GranularStep, isAgentStep, type StepNode } from "../definition/step.ts";
import type { Clock } from "../ports/clock.ts";
import type { RunResult } from "../ports/run-result.ts";
import { systemClock } from "../ports/system-clock.ts";
import { Deadline, deadlineError } from "../run/deadline.ts";
import type { SavedCheckpoint } from "../run/milestone-request.ts";
import { ofRun } from "./leased-run.ts";
import { Runner } from "./runner.ts";
import type { RunSessionOptions } from "./runner-options.ts";
import {
  assertNoSecrets,
  type Budget,
  type ResumeOptions,
  type RunnerOptions,
  sessionOptions,
} from "./runner-options.ts";

export type DurableMainLoopOptions = Omit<RunnerOptions, "onCheckpoint" | "entrypoint"> & {
  /** The worker's lasting identity: where its request, its latest checkpoint and its completed marker are. */
  readonly checkpoints: CheckpointStore;
  /** Called for all that is set aside or could not be written, in one sentence; a warning of the process unless given. */
  readonly warn?: (message: string) => void;
};

export type ExecuteOptions = {
  /** When the time for the request is over. It is kept with the request, and holds for whoever goes on with it. */
  readonly deadline?: Deadline;
  readonly signal?: AbortSignal;
  /** The most that the run may use, what it has used before included. */
  readonly budget?: Budget;
};

export type ExecuteResult<O> = RunResult<O> & {
  /** What was executed: the request that was kept, where the worker went on with one. */
  readonly request: Json;
};

/**
 * Executes one request at a time under a lasting identity. Killed and started again, it goes on from the last milestone of
 * the request that it has not completed, with the prompt, model and tools as they are now; the ledger keeps what was done
 * from being done again. Only the deadline bounds how often.
 *
 * @example
 * const loop = new DurableMainLoop(worker, { store, checkpoints: new FileCheckpointStore("workers/worker-001") });
 * const { output } = await loop.execute({ objective: "Migrate the wiki" }, { deadline: Deadline.in(3_600_000) });
 */
export class DurableMainLoop<O = unknown> {
  readonly #target: Agent<O> | StepNode<O>;
  readonly #options: DurableMainLoopOptions;
  readonly #checkpoints: CheckpointStore;
  readonly #session: RunSessionOptions;
  readonly #clock: Clock;
  readonly #warn: (message: string) => void;

  constructor(target: Agent<O> | StepNode<O>, options: DurableMainLoopOptions) {
    this.#target = target;
    this.#options = options;
    this.#checkpoints = options.checkpoints;
    this.#session = sessionOptions(rootOf(target), options);
    this.#clock = options.clock ?? systemClock;
    this.#warn = options.warn ?? ((message) => process.emitWarning(message));
  }

  /**
   * Goes on with what was not completed, or begins this request. What was not completed comes first: its own request is
   * used then, not the one given here, and `result.request` says which it was.
   */
  async execute(request: Json, options: ExecuteOptions = {}): Promise<ExecuteResult<O>> {
    assertJson(request, "The request");
    const release = await this.#checkpoints.acquire(this.#options.warn);
    try {
      return await withStore(this.#options.store, (store) => this.#execute(store, request, options));
    } finally {
      await release();
    }
  }

  async #execute(store: Store, request: Json, options: ExecuteOptions): Promise<ExecuteResult<O>> {
    const work = await this.#begin(store, request, options);
    const runner = this.#runner(store);
    let cause: unknown;
    for (let tries = 1; ; tries++) {
      try {
        const attempt = () => this.#attempt(store, runner, work, options);
        const result = await this.#watching(store, work, attempt, options.signal);
        if (result.status === "succeeded") await this.#checkpoints.markCompleted(work.runId);
        return { ...result, request: work.request };
      } catch (error) {
        // What kept it from being done in time is what its caller wants to know.
        if (DeadlineExceededError.isInstance(error)) error.cause ??= cause;
        if (!(await this.#mayTryAgain(error, tries, work, options))) throw error;
        cause = error;
        await this.#clock.sleep(backoffMs(tries, (this.#options.random ?? Math.random)()), options.signal);
      }
    }
  }

  /**
   * Another process has the run. One that works renews its lease, and this one gives up; one that has missed that stands still,
   * and is taken for gone once it has been watched for as long as a lease lasts.
   */
  async #watching<T>(
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

  /** The request that the worker has to do: the one that it has not completed, or this one, kept before anything is done. */
  async #begin(store: Store, request: Json, { deadline }: ExecuteOptions): Promise<WorkerRequest> {
    const isCompleted = await this.#checkpoints.isCompleted();
    const kept = isCompleted ? null : ((await this.#checkpoints.loadRequest()) ?? (await this.#known(store)));
    if (kept !== null) {
      if (canonicalJson(kept.request) !== canonicalJson(request))
        this.#warn(
          `Worker ${this.#checkpoints.worker} goes on with the request that it has not completed (run ${kept.runId}); the one given now was not begun.`,
        );
      return kept;
    }
    this.#assertAcceptable(request);
    await this.#checkpoints.begin({
      runId: uuidv7(),
      request,
      createdAt: this.#clock.now(),
      deadline: deadline?.at ?? null,
    });
    // Another process may have been faster, where the store lets only one begin.
    const begun = await this.#checkpoints.loadRequest();
    if (begun === null)
      throw new Error(`The request of worker ${this.#checkpoints.worker} was kept and is gone.`);
    return begun;
  }

  /** Before it is kept: a request that no run could begin with would be in the way of every later one. */
  #assertAcceptable(request: Json): void {
    assertNoSecrets(request, makeRules(this.#options.policy, this.#options.constraints));
    const first = firstAgentStep(rootOf(this.#target));
    if (first === null || first.options.input !== undefined) return;
    const { slices } = this.#session;
    const session = new Session({ id: "check", createdAt: this.#clock.now(), slices });
    first.agent.prompt.render(session, request);
  }

  /**
   * Gives up what was not completed: the next request begins anew. Its run stays as it is, with all that it has done, and
   * `runner.resume` still goes on with it. Resolves to the request that was given up, or null.
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

  /** A checkpoint whose request was lost: its session says which run it is of, and the store what that was asked. */
  async #known(store: Store): Promise<WorkerRequest | null> {
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
    const going = {
      ...(signal === undefined ? {} : { signal }),
      ...(budget === undefined ? {} : { budget }),
    };
    if (run?.status === "succeeded") return runner.run(request, { runId });
    const deadline = run === null ? work.deadline : run.deadline;
    const late = deadlineError(runId, { deadline, clock: this.#clock });
    if (late !== null) throw ofRun(runId, late);
    if (run === null) {
      await this.#assertNothingDone(work);
      return runner.run(request, {
        ...going,
        runId,
        ...(work.deadline === null ? {} : { deadline: new Deadline(work.deadline) }),
      });
    }
    return this.#goOn(runner, run, going);
  }

  /** A checkpoint of a run that this store does not know: the ledger is another one, and could not keep anything from happening twice. */
  async #assertNothingDone({ runId }: WorkerRequest): Promise<void> {
    if ((await this.#checkpoints.loadCheckpoint()) === null) return;
    throw new CheckpointStoreError(
      `Worker ${this.#checkpoints.worker} has a checkpoint of run ${runId}, which is not in this store: open the store that it was made with, or give the run up with \`giveUp()\`.`,
      { reason: "unknown_run", paths: [] },
    );
  }

  async #goOn(
    runner: Runner<O>,
    run: RunRecord,
    going: Pick<ResumeOptions, "signal" | "budget">,
  ): Promise<RunResult<O>> {
    const { runId } = run;
    if (isToGoOnByTurn(run)) {
      try {
        return await runner.resume(runId, going);
      } catch (error) {
        if (!(error instanceof ResumeError) || !error.irrecoverable) throw error;
      }
    }
    return runner.resume(runId, { ...going, from: await this.#lastMilestone() });
  }

  /** What cannot be read is set aside, and what does not fit is dealt with as the caller chose: the work begins anew. */
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
        `The checkpoint of worker ${this.#checkpoints.worker} cannot be restored (${error.message}): the work begins anew, and what the ledger has is not done again${where === null ? "" : `; it is kept as ${where}`}.`,
      );
      return "beginning";
    }
  }

  #assertFits({ snapshot }: WorkerCheckpoint): void {
    const session = new Session({ id: "check", createdAt: 0, slices: this.#session.slices });
    session.restored(Snapshot.fromJSON(snapshot));
  }

  #runner(store: Store): Runner<O> {
    const { checkpoints: _, warn: __, ...options } = this.#options;
    let isWarned = false;
    return new Runner(this.#target, {
      ...options,
      store,
      entrypoint: `worker:${this.#checkpoints.worker}`,
      onEvent: (event) => {
        if (event.type === "warning") this.#warn(event.message);
        options.onEvent?.(event);
      },
      onCheckpoint: async (checkpoint) => {
        try {
          await this.#checkpoints.persistCheckpoint(checkpoint);
          isWarned = false;
        } catch (error) {
          if (!isWarned) this.#warn(notWritten(this.#checkpoints.worker, error));
          isWarned = true;
        }
      },
    });
  }

  /** There is a checkpoint to go on from, time to do it in, and nothing that would only happen again. */
  async #mayTryAgain(
    error: unknown,
    tries: number,
    work: WorkerRequest,
    { signal }: ExecuteOptions,
  ): Promise<boolean> {
    if (work.deadline === null || this.#clock.now() >= work.deadline || signal?.aborted === true)
      return false;
    // Busy after a try of our own: its lease could not be given back, and runs out.
    const canPass = mayPass(error) || (tries > 1 && RunBusyError.isInstance(error));
    return canPass && (await this.#mayHaveCheckpoint());
  }

  /** A store that is away cannot say, and will be back or not by the deadline. */
  async #mayHaveCheckpoint(): Promise<boolean> {
    try {
      return await this.#checkpoints.hasIncomplete();
    } catch (error) {
      return StoreUnavailableError.isInstance(error);
    }
  }
}

/** How often a worker looks whether the process that has its run has renewed its lease. */
const WATCH_POLL_MS = 1_000;

/** The agent that gets the request itself; null where something else does. */
function firstAgentStep(step: StepNode): GranularStep | null {
  if (isAgentStep(step)) return step;
  const [first] = step.children ?? [];
  return first === undefined || step.kind === "loop" ? null : firstAgentStep(first);
}

/** What may be otherwise the next time, from a clean history: a provider, a store, an agent that went astray. */
function mayPass(error: unknown): boolean {
  if (ModelCallError.isInstance(error)) return true;
  return (
    PawlError.isInstance(error) &&
    (error.recoverable || ["step_failed", "max_turns_exceeded"].includes(error.code)) &&
    !["paused", "run_busy"].includes(error.code)
  );
}

/**
 * Where a person was asked about a call of the open turn, leaving that turn would lose the answer. Where only the provider or
 * the store failed, the turns since the milestone are as good as they were, and paid for.
 */
function isToGoOnByTurn({ status, error }: RunRecord): boolean {
  if (status === "queued" || status === "waiting") return true;
  return status === "failed" && error !== null && isOutage(reviveError(error));
}

/** Not where the provider refused what it was asked: with the same history it would do so again. */
function isOutage(error: PawlError): boolean {
  if (ModelCallError.isInstance(error)) return error.details.kind !== "rejected";
  return StoreUnavailableError.isInstance(error);
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
  return `The checkpoint of worker ${worker} could not be written: ${why}. The run goes on; after a crash it goes on from the milestone before.`;
}
