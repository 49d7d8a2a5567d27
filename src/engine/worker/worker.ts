import { ConfigurationError } from "../../core/errors.ts";
import { givenOptions } from "../../core/naming/option-names.ts";
import { MAX_STALLS } from "../../core/run/stall-decision.ts";
import type { Store } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import type { StepNode } from "../definition/step.ts";
import type { Clock } from "../ports/clock.ts";
import { systemClock } from "../ports/system-clock.ts";
import { beginWorkerTelemetry } from "../run/guarded-telemetry.ts";
import type { RunRequests } from "../runner/run-requests.ts";
import { loadRequests, makeSetup } from "../runner/runner.ts";
import type { RunnerOptions, RunnerSetup } from "../runner/runner-options.ts";
import { AbandonedWatch } from "./abandoned-watch.ts";
import { abandonedRuns, type FoundRun, ReadyRuns, wakeDueRuns } from "./found-runs.ts";
import { LoopWatch } from "./loop-watch.ts";
import { RetentionSweep } from "./retention-sweep.ts";
import {
  assertWorkerOptions,
  claimLimits,
  divergencePolicyOf,
  RUNNER_OPTIONS_OF_WORKERS,
  type WorkerLimits,
  type WorkerNotice,
  type WorkerOptions,
} from "./worker-options.ts";
import { WorkerReports } from "./worker-reports.ts";
import { scheduleConfiguration, WorkerSchedules } from "./worker-schedules.ts";

/** A run that could not be executed here is not looked at again before this. */
const UNFIT_MS = 30_000;

/** How often it counts what waits in its queues. */
const COUNT_EVERY_MS = 30_000;

/** How long a worker waits after the store has failed, at the most. */
const LONGEST_PAUSE_MS = 5_000;

/**
 * Claims runs that are ready, and works on them: those that were enqueued, whose time has come, that were answered, or that
 * a dead process left. Any number of workers may share a store: on SQLite those of one machine, on PostgreSQL of many.
 *
 * @example
 * const stop = new AbortController();
 * const worker = new Worker({ store, pipelines: { report }, concurrency: 8 });
 * process.once("SIGTERM", () => stop.abort());
 * await worker.run(stop.signal);
 */
export class Worker {
  readonly #store: Store;
  readonly #setups: ReadonlyMap<string, RunnerSetup>;
  #requests: ReadonlyMap<string, RunRequests<unknown>> = new Map();
  readonly #queues: readonly string[];
  readonly #concurrency: number;
  readonly #limits: WorkerLimits;
  readonly #claim: { readonly maxStalls: number; readonly workerVersion: string | null };
  readonly #clock: Clock;
  readonly #sweepMs: number;
  readonly #versionGraceMs: number;
  readonly #retention: RetentionSweep;
  readonly #schedules: WorkerSchedules;
  readonly #reports: WorkerReports;
  readonly #telemetry: WorkerOptions["telemetry"];
  #listeners: readonly ((notice: WorkerNotice) => void)[];
  readonly #active = new Map<string, Promise<void>>();
  readonly #unfit = new Map<string, number>();
  readonly #release = new AbortController();
  #wake: () => void = () => undefined;
  #isRunning = false;
  #countedAt = Number.NEGATIVE_INFINITY;
  #unknown: readonly string[] = [];

  constructor(options: WorkerOptions) {
    assertWorkerOptions(options);
    const { store, pipelines, queues = ["default"], concurrency = 8, limits = {}, onNotice } = options;
    this.#store = store;
    this.#setups = setupsOf(pipelines, (key) => ({
      ...givenOptions(options, RUNNER_OPTIONS_OF_WORKERS),
      store,
      onDivergence: divergencePolicyOf(options, key),
    }));
    this.#queues = queues;
    this.#concurrency = concurrency;
    this.#limits = limits;
    this.#claim = {
      maxStalls: options.maxStalls ?? MAX_STALLS,
      workerVersion: options.version ?? null,
    };
    this.#clock = options.clock ?? systemClock;
    this.#sweepMs = options.sweepMs ?? 1_000;
    this.#versionGraceMs = options.versionGraceMs ?? 0;
    this.#retention = new RetentionSweep(store, this.#clock, options.retention);
    const { schedules, scheduleRevision = 0 } = options;
    const configuration =
      schedules === undefined
        ? null
        : scheduleConfiguration(schedules, scheduleRevision, withKeys(this.#setups, pipelines));
    this.#schedules = new WorkerSchedules(store, configuration, this.#clock, (notice) =>
      this.#onNotice(notice),
    );
    this.#telemetry = options.telemetry;
    this.#listeners = [guarded(onNotice)];
    const subject = {
      version: options.version ?? null,
      pipelines: [...this.#setups.keys()],
      queues,
      concurrency,
    };
    this.#reports = new WorkerReports(store, this.#clock, subject, () => this.runIds);
  }

  /** The runs that it works on now. */
  get runIds(): readonly string[] {
    return [...this.#active.keys()];
  }

  /**
   * Works until the signal aborts. Then it begins nothing new, finishes what is in progress (a model call, a tool), gives its
   * runs back for other workers, and resolves. To stop at once instead, close the store.
   */
  async run(signal?: AbortSignal): Promise<void> {
    if (this.#isRunning) throw new ConfigurationError("The worker is running already: make another one.");
    this.#isRunning = true;
    const { RunRequests } = await loadRequests();
    this.#requests = new Map([...this.#setups].map(([name, setup]) => [name, new RunRequests(setup)]));
    const onAbort = () => this.#handBack();
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    const stopWatching = await this.#store.watchReady(
      () => this.#wake(),
      (reason) => this.#onNotice({ type: "signals_only", reason }),
    );
    const stopObserving = this.#beginObserving();
    const loop = new LoopWatch(this.#clock, (forMs) => this.#onNotice({ type: "blocked", forMs }));
    const abandoned = this.#watchAbandoned();
    abandoned.start();
    try {
      await this.#work(abandoned);
      await Promise.all(this.#active.values());
    } finally {
      loop.stop();
      await abandoned.stop();
      stopWatching();
      await stopObserving();
      signal?.removeEventListener("abort", onAbort);
      this.#isRunning = false;
    }
  }

  #watchAbandoned(): AbandonedWatch {
    const pipelines = new Set(this.#requests.keys());
    const look = () => abandonedRuns(this.#store, pipelines, new Set(this.#queues));
    return new AbandonedWatch(this.#clock, this.#sweepMs / 2, look, {
      onFound: () => this.#wake(),
      onError: (error) => this.#onNotice({ type: "store_failed", error }),
    });
  }

  /** For people and for metrics: the worker does not depend on it. */
  #beginObserving(): () => Promise<void> {
    const [given] = this.#listeners;
    const telemetry = beginWorkerTelemetry(this.#telemetry, {
      queues: this.#queues,
      pipelines: [...this.#setups.keys()],
      activeRuns: () => this.#active.size,
      countReady: () => this.#store.countReady(),
    });
    this.#listeners = [
      ...(given === undefined ? [] : [given]),
      this.#reports.onNotice,
      (notice) => telemetry.onNotice(notice),
    ];
    this.#reports.start();
    return () => {
      telemetry.end();
      return this.#reports.end();
    };
  }

  #onNotice(notice: WorkerNotice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  #handBack(): void {
    if (this.#release.signal.aborted) return;
    this.#onNotice({ type: "handing_back", runs: this.#active.size });
    this.#release.abort();
    this.#wake();
  }

  async #work(abandoned: AbandonedWatch): Promise<void> {
    let failures = 0;
    while (!this.#release.signal.aborted) {
      // Before the look: what becomes ready during it is looked for again.
      const woken = this.#nextWake();
      let pauseMs = this.#sweepMs;
      try {
        pauseMs = Math.min(pauseMs, await this.#look(abandoned));
        failures = 0;
      } catch (error) {
        if (this.#release.signal.aborted) return;
        this.#onNotice({ type: "store_failed", error });
        failures += 1;
        pauseMs = Math.min(LONGEST_PAUSE_MS, 100 * 2 ** Math.min(failures, 10));
      }
      await this.#pause(pauseMs, woken);
    }
  }

  /** Resolves when something may be ready, or a run has ended. */
  #nextWake(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #pause(ms: number, woken: Promise<void>): Promise<void> {
    const stop = new AbortController();
    const sleep = this.#clock.sleep(ms, stop.signal).catch(() => undefined);
    await Promise.race([woken, sleep]);
    stop.abort();
  }

  /** Wakes and fires, then claims what it has room for. Resolves to how long it is until the clock has something to do. */
  async #look(abandoned: AbandonedWatch): Promise<number> {
    await this.#takeAbandoned(abandoned);
    const times = [await wakeDueRuns(this.#store), await this.#schedules.fireDue()];
    await this.#lookForUnknown();
    const deleted = await this.#retention.sweep();
    if (deleted > 0) this.#onNotice({ type: "deleted", runs: deleted });
    const ready = new ReadyRuns(this.#store, [...this.#requests.keys()], this.#queues);
    while (this.#room > 0) {
      const run = await ready.next(this.#room + SOME_MORE);
      if (run === null) break;
      const by = await this.#take(run, ["queued"]);
      if (by !== null) ready.leaveOut(run, by);
    }
    return Math.min(...times.map((inMs) => inMs ?? Number.POSITIVE_INFINITY));
  }

  get #room(): number {
    return this.#release.signal.aborted ? 0 : this.#concurrency - this.#active.size;
  }

  /** Runs that nobody takes are said, since they would wait for ever. */
  async #lookForUnknown(): Promise<void> {
    const now = this.#clock.monotonic();
    if (now - this.#countedAt < COUNT_EVERY_MS) return;
    this.#countedAt = now;
    const depths = await this.#store.countReady();
    const unknown = depths.filter(
      ({ queue, pipeline }) => this.#queues.includes(queue) && !this.#requests.has(pipeline),
    );
    const pipelines = [...new Set(unknown.map(({ pipeline }) => pipeline))].sort();
    if (pipelines.join("\n") === this.#unknown.join("\n")) return;
    this.#unknown = pipelines;
    if (pipelines.length > 0) this.#onNotice({ type: "unknown_pipelines", pipelines });
  }

  /** They come first: somebody has waited for them longest. */
  async #takeAbandoned(abandoned: AbandonedWatch): Promise<void> {
    while (this.#room > 0) {
      const run = abandoned.next();
      if (run === null) return;
      await this.#take(run, ["running"]);
    }
  }

  /** Claims the run, and begins to work on it. Returns the limit that forbids it, if one does. */
  async #take(
    run: FoundRun,
    from: readonly ["queued" | "running"],
  ): Promise<"total" | "queue" | "key" | null> {
    const { runId, pipeline, queue, readyAt, idleMs } = run;
    const requests = this.#requests.get(pipeline);
    if (requests === undefined || this.#active.has(runId) || this.#isUnfit(runId)) return null;
    if (this.#isLeftToOthers(run)) return null;
    const claim = { ...this.#claim, from, limits: claimLimits(this.#limits, queue) };
    const options = { release: this.#release.signal };
    const outcome = await requests.workOn(this.#store, runId, claim, options).catch((error: unknown) => {
      this.#unfit.set(runId, this.#clock.monotonic() + UNFIT_MS);
      this.#onNotice({ type: "unfit", runId, error });
      return null;
    });
    if (outcome === null) return null;
    if (outcome.kind === "limited") return outcome.by;
    if (outcome.kind === "stalled") this.#onNotice({ type: "stalled", runId });
    if (outcome.kind !== "claimed") return null;
    const afterMs = readyAt === null ? null : Math.max(0, this.#clock.now() - readyAt);
    const silentMs = readyAt === null ? idleMs : null;
    this.#active.set(runId, this.#follow(run, outcome.ended));
    this.#onNotice({ type: "claimed", runId, pipeline, queue, afterMs, silentMs });
    return null;
  }

  /** A worker of the version that has begun it may take it, for a while. */
  #isLeftToOthers({ workerVersion, idleMs }: FoundRun): boolean {
    if (workerVersion === null || workerVersion === this.#claim.workerVersion) return false;
    return idleMs < this.#versionGraceMs;
  }

  #isUnfit(runId: string): boolean {
    const until = this.#unfit.get(runId);
    if (until === undefined) return false;
    if (this.#clock.monotonic() < until) return true;
    this.#unfit.delete(runId);
    return false;
  }

  async #follow(
    { runId, pipeline, queue }: FoundRun,
    ended: Promise<{ readonly status: string }>,
  ): Promise<void> {
    const left = { type: "left", runId, pipeline, queue } as const;
    try {
      const { status } = await ended;
      this.#onNotice({ ...left, status, error: null });
    } catch (error) {
      const run = await this.#store.getRun(runId).catch(() => null);
      this.#onNotice({ ...left, status: run?.status ?? null, error });
    } finally {
      this.#active.delete(runId);
      this.#wake();
    }
  }
}

/** Other workers may be faster with some of the runs that are ready. */
const SOME_MORE = 8;

/** The setup of each pipeline, by its own name. */
function setupsOf(
  pipelines: { readonly [name: string]: Agent | StepNode },
  optionsOf: (key: string) => RunnerOptions,
): ReadonlyMap<string, RunnerSetup> {
  const setups = new Map<string, RunnerSetup>();
  const targets = Object.values(pipelines);
  for (const [key, target] of Object.entries(pipelines)) {
    const setup = makeSetup(target, { ...optionsOf(key), otherPipelines: targets });
    const { name } = setup.root;
    if (setups.has(name))
      throw new ConfigurationError(
        `The worker has two pipelines named ${JSON.stringify(name)}, and a run is found by its name: rename one of them.`,
      );
    setups.set(name, setup);
  }
  return setups;
}

/** By the pipelines' own names, and by those that the worker was given them under. */
function withKeys(
  setups: ReadonlyMap<string, RunnerSetup>,
  pipelines: WorkerOptions["pipelines"],
): ReadonlyMap<string, RunnerSetup> {
  const inOrder = [...setups.values()];
  const byKey = Object.keys(pipelines).flatMap((key, i) => {
    const setup = inOrder[i];
    return setup === undefined ? [] : [[key, setup] as const];
  });
  return new Map([...byKey, ...setups]);
}

/** A listener cannot stop the worker. */
function guarded(onNotice: WorkerOptions["onNotice"]): (notice: WorkerNotice) => void {
  return (notice) => {
    try {
      onNotice?.(notice);
    } catch {
      // The listener's own error.
    }
  };
}
