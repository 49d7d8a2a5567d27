import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PawlError, ResumeError } from "../../core/errors.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import { Runner } from "../../engine/runner/runner.ts";
import type { RunnerOptions } from "../../engine/runner/runner-options.ts";
import type { Store } from "../../store/store.ts";
import { answerWaits } from "./answer-waits.ts";
import type {
  LiveCondition,
  MachineClocks,
  ProcessStore,
  WorldDatabase,
} from "./databases/crash-database.ts";
import { type ModelFaults, workDespiteTimeouts } from "./model-fault.ts";
import { notingEnqueues, OwnershipLog } from "./ownership-log.ts";
import type { Point } from "./point.ts";
import { type Intent, NO_LISTENER, portedStore } from "./ported-store.ts";
import { type ProcessTools, RUN_ID, type Scenario, workUntilDone } from "./scenario.ts";
import { SimulatedOutside } from "./simulated-outside.ts";
import { type Activity, type Gate, NO_GATE, SimulatedProcess } from "./simulated-process.ts";
import { receiversFor } from "./simulated-receiver.ts";
import { hasPendingNodeWork, SimulatedTime } from "./simulated-time.ts";
import type { ViewerHost } from "./viewers/simulated-viewer.ts";
import type { ViewerConduct } from "./viewers/viewer-conduct.ts";
import { WorldViewers } from "./viewers/world-viewers.ts";
import { Witness } from "./witness.ts";

/** How the work of a process ended. */
export type ProcessOutcome =
  | { readonly kind: "died" }
  | { readonly kind: "returned"; readonly value: unknown }
  | {
      readonly kind: "threw";
      readonly name: string;
      readonly message: string;
      /** The error is a divergence: the prompt, model or tools are not those that the run began with. */
      readonly isDiverged: boolean;
    }
  /** It neither worked nor slept for longer than any call takes, or it only read, without an end. */
  | { readonly kind: "stuck" };

/** A write of a worker, with its epoch and the run's epoch right after the write. */
export type FencedWrite = {
  readonly intent: Intent;
  readonly life: number;
  readonly epoch: number;
  readonly currentEpoch: number;
};

/** An effect that a process marked as about to be sent. `callIndex` is 0 for a model call. */
export type NotedEffect = {
  readonly life: number;
  readonly runId: string;
  readonly stepPath: string;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly attempt: number;
};

export type StartedProcess = { readonly life: SimulatedProcess; readonly end: Promise<ProcessOutcome> };

export type WorldOptions = {
  /** Holds the witness file and the run's workspace. */
  readonly folder: string;
  readonly database: WorldDatabase;
  readonly random: () => number;
  /** The number of processes that worked in the folder before; 0 by default. */
  readonly livesBefore?: number;
  /** Who watches the run; by default nobody. */
  readonly viewers?: readonly ViewerConduct[];
  /** What becomes of the pieces of answers; `off` asks for whole answers. By default `works`. */
  readonly live?: LiveCondition | "off";
};

/**
 * A simulated machine with a real database: its time, its processes, the systems outside of it, and the witness. Each
 * process has its own connections and its own lock, as real ones have.
 */
export class World {
  readonly scenario: Scenario;
  readonly time: SimulatedTime;
  readonly witness: Witness;
  readonly writes: FencedWrite[] = [];
  readonly noted: NotedEffect[] = [];
  readonly ownership: OwnershipLog;
  /** A connection of no process, for reading what is stored. */
  readonly observer: Store;
  readonly leaseMs: number;
  readonly viewers: WorldViewers | null;
  /** Injected faults of the provider; by default only the scenario's stand-in fails. */
  faults: ModelFaults | null = null;
  readonly #clocks: MachineClocks;
  readonly #database: WorldDatabase;
  readonly #folder: string;
  readonly #activity: Activity = { inFlight: 0, hanging: 0, lastAnswer: null };
  readonly #open = new Map<SimulatedProcess, ProcessStore>();
  readonly #random: () => number;
  readonly #live: NonNullable<WorldOptions["live"]>;
  #lives: number;
  #patienceMs = SLOW_AFTER_MS;

  private constructor(
    scenario: Scenario,
    options: WorldOptions,
    time: SimulatedTime,
    observer: Store,
    clocks: MachineClocks,
  ) {
    const { folder, database, random, livesBefore = 0, viewers = [], live = "works" } = options;
    this.scenario = scenario;
    this.observer = observer;
    this.time = time;
    this.witness = new Witness(witnessIn(folder));
    this.ownership = new OwnershipLog(
      observer,
      { monotonic: () => time.monotonic(), now: () => time.now() },
      () => this.witness.lines().length,
    );
    this.leaseMs = scenario.runner?.leaseMs ?? 30_000;
    this.#clocks = clocks;
    this.#database = database;
    this.#folder = folder;
    this.#random = random;
    this.#live = live;
    this.#lives = livesBefore;
    this.viewers =
      viewers.length === 0 ? null : new WorldViewers(viewers, this.#viewerHost(), observer, this.#activity);
  }

  static async open(scenario: Scenario, options: WorldOptions): Promise<World> {
    const time = new SimulatedTime(START_TIME + (options.livesBefore ?? 0) * BETWEEN_PROCESSES_MS);
    // The observer uses the simulated clock too: by a real one, every lease would look expired.
    const clocks: MachineClocks = { now: () => time.now(), monotonic: () => time.monotonic() };
    const observer = await options.database.observe(clocks);
    return new World(scenario, options, time, observer, clocks);
  }

  /** Starts a new process. */
  async start(gate: Gate): Promise<StartedProcess> {
    const life = new SimulatedProcess(++this.#lives, this.time, this.#activity, this.#watched(gate));
    const opened = await this.#openFor(life);
    this.#open.set(life, opened);
    return { life, end: this.#work(life, opened) };
  }

  #openFor(life: SimulatedProcess): Promise<ProcessStore> {
    const after = (ms: number, callback: () => void) => life.asleep(ms, callback);
    const clocks = { ...this.#clocks, after, liveTimers: this.time.liveTimersOf(life) };
    return this.#database.open(clocks, this.#activity, this.#live === "fails" ? "fails" : "works");
  }

  /** Viewers look at a point before anything happens to the process there. */
  #watched(gate: Gate): Gate {
    const { viewers } = this;
    if (viewers === null) return gate;
    return async (life, point) => {
      await viewers.step(this.#lives);
      await gate(life, point);
    };
  }

  #viewerHost(): ViewerHost {
    return {
      runId: RUN_ID,
      startViewer: async () => {
        // It has no number among the processes that work.
        const life = new SimulatedProcess(0, this.time, this.#activity, NO_GATE);
        const opened = await this.#openFor(life);
        return {
          store: portedStore(opened.store, life, NO_LISTENER),
          clock: this.time.clockOf(life),
          isPaused: () => life.state === "paused",
          pause: () => life.pause(),
          wake: () => life.wake(),
          die: () => life.die(),
          end: () => this.#end(life, opened),
        };
      },
      untilQuiet: () => this.untilQuiet(),
    };
  }

  /** Starts a new process, and runs the world until it has ended. */
  async runProcess(gate: Gate): Promise<{ readonly life: SimulatedProcess; readonly end: ProcessOutcome }> {
    const { life, end } = await this.start(gate);
    return { life, end: await this.until(end) };
  }

  /** Lets all processes work, and time advance when all are asleep, until this is settled. */
  async until<T>(awaited: Promise<T>): Promise<T | { readonly kind: "stuck" }> {
    const outcomes: PromiseSettledResult<T>[] = [];
    void Promise.allSettled([awaited]).then(([outcome]) => outcomes.push(outcome));
    const isSettled = () => outcomes.length > 0;
    let idleMs = 0;
    for (;;) {
      const rest = await this.untilQuiet(isSettled);
      const [outcome] = outcomes;
      if (outcome?.status === "rejected") throw outcome.reason;
      if (outcome !== undefined) return outcome.value;
      // A call that has taken this long will not return: time advances to its timeout.
      const hasAdvanced =
        rest === "slow" ? this.time.advanceToNextTimer({ includeTimeouts: true }) : this.advanceTime();
      if (hasAdvanced) {
        await this.viewers?.step(this.#lives);
        idleMs = 0;
        continue;
      }
      // Some code does work that goes through no port: a timer or a socket of its own.
      await sleep(1);
      idleMs += rest === "slow" ? STILL_SLOW_AFTER_MS : 1;
      if (idleMs > STUCK_AFTER_MS) return { kind: "stuck" };
    }
  }

  /** Waits until no process works any more, or `isSettled`. `slow`: some call takes too long. */
  async untilQuiet(isSettled: () => boolean = () => false): Promise<"quiet" | "slow"> {
    let since = performance.now();
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      // A server has timeouts of its own.
      if (await this.#hadAnswer()) since = performance.now();
      await new Promise((resolve) => setImmediate(resolve));
      if (isSettled()) return "quiet";
      if (this.#activity.inFlight > 0 || hasPendingNodeWork()) turns = -1;
      if (performance.now() - since <= this.#patienceMs) continue;
      // After one long wait, the next ones are short.
      this.#patienceMs = STILL_SLOW_AFTER_MS;
      return "slow";
    }
    this.#patienceMs = SLOW_AFTER_MS;
    return "quiet";
  }

  /** While a server works, this process leaves the processor to it. False if none was asked anything. */
  async #hadAnswer(): Promise<boolean> {
    const { lastAnswer } = this.#activity;
    this.#activity.lastAnswer = null;
    await lastAnswer;
    return lastAnswer !== null;
  }

  /** Advances time towards the next sleep that ends. False if there is none. */
  advanceTime(): boolean {
    return this.time.advanceToNextTimer({ includeTimeouts: this.#activity.hanging > 0 });
  }

  /** The database of a process fails, from this point on. */
  fail(life: SimulatedProcess, { phase }: Point): void {
    this.#open.get(life)?.fail(phase);
  }

  /** It works again. */
  recover(life: SimulatedProcess): void {
    this.#open.get(life)?.recover();
  }

  /** Kills a process: its store is not closed, and its files and sessions stay behind. */
  async crash(life: SimulatedProcess): Promise<void> {
    life.die();
    const opened = this.#open.get(life);
    if (opened === undefined) return;
    this.#open.delete(life);
    await this.#end(life, opened);
  }

  async #end(life: SimulatedProcess, opened: ProcessStore): Promise<void> {
    life.die();
    await Promise.race([life.drain(), sleep(this.#patienceMs, undefined, { ref: false })]);
    await opened.vanish();
  }

  /** A process that has done its work closes its store and ends. One that hangs is killed. */
  async exit(life: SimulatedProcess): Promise<void> {
    if (life.isStuck) return this.crash(life);
    const opened = this.#open.get(life);
    this.#open.delete(life);
    // A tool that timed out is not awaited: it ends with the process.
    const closed = opened?.store.close({ graceMs: 0 });
    this.time.advance(0);
    await closed;
    await opened?.vanish();
    life.die();
  }

  /** A process closes its store while it works, as a handler for SIGTERM does. Then it ends. */
  async close(life: SimulatedProcess): Promise<void> {
    this.#activity.inFlight += 1;
    try {
      await this.#open.get(life)?.store.close();
    } finally {
      this.#activity.inFlight -= 1;
    }
    life.die();
  }

  /** A process whose work failed does it again. */
  workAgain(life: SimulatedProcess): Promise<ProcessOutcome> {
    const opened = this.#open.get(life);
    if (opened === undefined) throw new Error(`Process ${life.number} has no store open.`);
    return this.#work(life, opened);
  }

  async dispose(): Promise<void> {
    for (const life of Array.from(this.#open.keys())) await this.crash(life);
    await this.observer.close();
  }

  async #work(life: SimulatedProcess, opened: ProcessStore): Promise<ProcessOutcome> {
    const tools = this.#toolsFor(life, opened);
    const work = this.faults === null ? workUntilDone : workDespiteTimeouts;
    const act = this.scenario.act ?? ((given: ProcessTools) => work(this.scenario, given));
    const end = (async () => act(tools))().then(
      (value): ProcessOutcome => ({ kind: "returned", value }),
      (error: unknown): ProcessOutcome => threwOutcome(error),
    );
    const death = life.death.then((): ProcessOutcome => ({ kind: life.isStuck ? "stuck" : "died" }));
    return Promise.race([end, death]);
  }

  #toolsFor(life: SimulatedProcess, opened: ProcessStore): ProcessTools {
    const { scenario, witness } = this;
    const store = portedStore(opened.store, life, {
      beforeWrite: (intent) => opened.beforeWrite(intent),
      onIntent: (...intent) => this.ownership.note(life, ...intent),
      onWrite: async (intent, { runId, epoch }) => {
        const run = await this.observer.getRun(runId);
        if (run !== null) this.writes.push({ intent, life: life.number, epoch, currentEpoch: run.epoch });
      },
      onEffect: async ({ runId }, { stepKey, turnIndex, callIndex, attempt }) => {
        const step = (await this.observer.listSteps(runId)).find((each) => each.stepKey === stepKey);
        const stepPath = step?.path ?? "";
        this.noted.push({ life: life.number, runId, stepPath, turnIndex, callIndex, attempt });
      },
    });
    const outside = new SimulatedOutside(
      {
        scenario,
        witness,
        observer: this.observer,
        activity: this.#activity,
        faults: (...asked) => this.faults?.(...asked) ?? null,
      },
      life,
    );
    const ports = { store, clock: life.clock, random: this.#random, outside };
    // A listener: without one, every simulated outage would be a warning of the real process.
    const onEvent = () => undefined;
    const common = {
      workspaceRoot: this.#folder,
      leaseMs: this.leaseMs,
      onEvent,
      ...scenario.runner,
      ...(this.#live === "off" ? { live: false } : {}),
    };
    const runnerOf = (target: Agent | StepNode, options: RunnerOptions = {}) =>
      notingEnqueues(new Runner(target, { ...common, ...options, ...ports }), (key, runId) =>
        this.ownership.enqueued.push({ life: life.number, pipeline: target.name, key, runId }),
      );
    return {
      runner: runnerOf(scenario.pipeline),
      store,
      runnerOf,
      options: { ...common, ...ports },
      answer: (waits) => answerWaits(store, witness, scenario.person ?? {}, waits),
      post: receiversFor(life, witness),
      life: life.number,
    };
  }
}

/** Turns of the event loop without any activity after which all processes count as idle. */
const QUIET_TURNS = 3;

/** Longer than any call takes that returns at all. */
const SLOW_AFTER_MS = 5_000;

const STILL_SLOW_AFTER_MS = 20;

const STUCK_AFTER_MS = 10_000;

const START_TIME = Date.UTC(2026, 0, 1);

/** The time between two real processes that work in one folder one after the other. */
const BETWEEN_PROCESSES_MS = 60_000;

export function witnessIn(folder: string): string {
  return join(folder, "witness.jsonl");
}

/** The outcome of a process whose work threw this error. */
export function threwOutcome(error: unknown): ProcessOutcome {
  const isDiverged = ResumeError.isInstance(error) && error.irrecoverable;
  const name = PawlError.isInstance(error) || error instanceof Error ? error.name : typeof error;
  return { kind: "threw", name, message: error instanceof Error ? error.message : String(error), isDiverged };
}
