import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PawlError, ResumeError } from "../../core/errors.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import { Runner } from "../../engine/runner/runner.ts";
import type { RunnerOptions } from "../../engine/runner/runner-options.ts";
import { openStore } from "../../store/open-store.ts";
import { SqliteStore, type SqliteStoreOptions } from "../../store/sqlite/sqlite-store.ts";
import type { Store } from "../../store/store.ts";
import { type Activity, type Gate, Life } from "./life.ts";
import { type ModelFaults, workInSpiteOfSilence } from "./model-fault.ts";
import { answerAll } from "./person.ts";
import { type Intent, portedStore } from "./ported-store.ts";
import { type ProcessTools, type Scenario, workUntilTheEnd } from "./scenario.ts";
import { simulatedDoorbell } from "./simulated-doorbell.ts";
import { SimulatedOutside } from "./simulated-outside.ts";
import { SimulatedTime } from "./simulated-time.ts";
import { Witness } from "./witness.ts";

/** How the work of a process ended. */
export type LifeEnd =
  | { readonly kind: "died" }
  | { readonly kind: "returned"; readonly value: unknown }
  | {
      readonly kind: "threw";
      readonly name: string;
      readonly message: string;
      /** The error says that the run is not what it was. */
      readonly isDiverged: boolean;
    }
  /** It neither worked nor waited for time to go by, for longer than anything takes. */
  | { readonly kind: "stuck" };

/** A write that a worker made, and whose the run was by then. */
export type FencedWrite = {
  readonly intent: Intent;
  readonly life: number;
  readonly epoch: number;
  readonly currentEpoch: number;
};

/** An effect that a process noted as about to leave. `callIndex` is 0 for a model call. */
export type NotedEffect = {
  readonly life: number;
  readonly runId: string;
  readonly stepPath: string;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly attempt: number;
};

/** A process at work: what it is, and how it ends. */
export type Work = { readonly life: Life; readonly end: Promise<LifeEnd> };

/** Where a world is, and what is known of it from before. */
export type WorldPlace = {
  /** Holds the database, the witness file, and what the run writes. */
  readonly folder: string;
  readonly random: () => number;
  /** How many processes there have been, where it was made in another one; none unless said. */
  readonly livesBefore?: number;
  /** Its processes are real ones, each in a world of its own. */
  readonly isReal?: boolean;
};

/**
 * A simulated machine with a real database: its time, its processes, what is outside of it, and the witness. Each process
 * has a connection and a lock file of its own, as real ones have.
 */
export class World {
  readonly scenario: Scenario;
  readonly time: SimulatedTime;
  readonly witness: Witness;
  readonly writes: FencedWrite[] = [];
  readonly noted: NotedEffect[] = [];
  /** Somebody's own connection, for looking. */
  readonly observer: Store;
  readonly leaseMs: number;
  /** What goes wrong with the provider; nothing but what the scenario's stand-in does, unless said. */
  faults: ModelFaults | null = null;
  readonly #machine: SqliteStoreOptions;
  readonly #folder: string;
  readonly #activity: Activity = { underWay: 0, hanging: 0 };
  readonly #open = new Map<Life, SqliteStore>();
  readonly #random: () => number;
  #lives: number;
  #patienceMs = SLOW_AFTER_MS;

  private constructor(
    scenario: Scenario,
    place: WorldPlace,
    time: SimulatedTime,
    observer: Store,
    machine: SqliteStoreOptions,
  ) {
    const { folder, random, livesBefore = 0 } = place;
    this.scenario = scenario;
    this.observer = observer;
    this.time = time;
    this.witness = new Witness(witnessIn(folder));
    this.leaseMs = scenario.runner?.leaseMs ?? 30_000;
    this.#machine = machine;
    this.#folder = folder;
    this.#random = random;
    this.#lives = livesBefore;
  }

  /** In a folder with a database, made before. */
  static async open(scenario: Scenario, place: WorldPlace): Promise<World> {
    const time = new SimulatedTime(FIRST_MOMENT + (place.livesBefore ?? 0) * BETWEEN_LIVES_MS);
    // By the same clock as everybody else: by any other, every lease would look as if it had run out.
    const machine: SqliteStoreOptions = {
      now: () => time.now(),
      monotonic: () => time.monotonic(),
      ...(place.isReal === true ? {} : { doorbell: simulatedDoorbell() }),
    };
    const observer = await openStore(`file:${databaseIn(place.folder)}`, machine);
    return new World(scenario, place, time, observer, machine);
  }

  /** A new process sets to work. */
  async start(gate: Gate): Promise<Work> {
    const life = new Life(++this.#lives, this.time, this.#activity, gate);
    const store = await SqliteStore.open(databaseIn(this.#folder), {
      ...this.#machine,
      after: (ms, callback) => life.clock.after(ms, callback),
    });
    this.#open.set(life, store);
    return { life, end: this.#work(life, store) };
  }

  /** A new process sets to work, and all goes on until it has come to its end. */
  async live(gate: Gate): Promise<{ readonly life: Life; readonly end: LifeEnd }> {
    const { life, end } = await this.start(gate);
    return { life, end: await this.until(end) };
  }

  /** Lets everybody work, and time go by when all are asleep, until this is settled. */
  async until<T>(awaited: Promise<T>): Promise<T | { readonly kind: "stuck" }> {
    const outcomes: PromiseSettledResult<T>[] = [];
    void Promise.allSettled([awaited]).then(([outcome]) => outcomes.push(outcome));
    const isOver = () => outcomes.length > 0;
    let idleMs = 0;
    for (;;) {
      const rest = await this.quiet(isOver);
      const [outcome] = outcomes;
      if (outcome?.status === "rejected") throw outcome.reason;
      if (outcome !== undefined) return outcome.value;
      // Whoever has not answered for so long answers nobody: time goes on to where that is given up.
      const goesOn = rest === "slow" ? this.time.goOn({ untilTimeouts: true }) : this.goOn();
      if (goesOn) {
        idleMs = 0;
        continue;
      }
      // Somebody does what no port knows of: code with a timer or a socket of its own.
      await sleep(1);
      idleMs += rest === "slow" ? STILL_SLOW_AFTER_MS : 1;
      if (idleMs > STUCK_AFTER_MS) return { kind: "stuck" };
    }
  }

  /** Waits until nobody is at work any more, or what was waited for has come. `slow`: somebody takes too long. */
  async quiet(isOver: () => boolean = () => false): Promise<"quiet" | "slow"> {
    const since = performance.now();
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (isOver()) return "quiet";
      if (this.#activity.underWay > 0 || isComingBack()) turns = -1;
      if (performance.now() - since <= this.#patienceMs) continue;
      // Who has been waited for once is not waited for so long again.
      this.#patienceMs = STILL_SLOW_AFTER_MS;
      return "slow";
    }
    this.#patienceMs = SLOW_AFTER_MS;
    return "quiet";
  }

  /** Time goes on to where somebody wakes. */
  goOn(): boolean {
    return this.time.goOn({ untilTimeouts: this.#activity.hanging > 0 });
  }

  /** A process that is dead says no goodbye, and leaves its files behind. */
  async bury(life: Life): Promise<void> {
    life.die();
    const store = this.#open.get(life);
    if (store === undefined) return;
    this.#open.delete(life);
    await Promise.race([life.allServed(), sleep(this.#patienceMs, undefined, { ref: false })]);
    await store.vanish();
  }

  /** A process has done its work, and ends in peace. */
  async leave(life: Life): Promise<void> {
    const store = this.#open.get(life);
    this.#open.delete(life);
    // Nobody waits for a tool that was given up on: it ends with the process.
    const closed = store?.close({ graceMs: 0 });
    this.time.pass(0);
    await closed;
    await store?.vanish();
    life.die();
  }

  /** A process closes its store, as a handler for SIGTERM does, and goes on meanwhile. Then it ends. */
  async close(life: Life): Promise<void> {
    await this.#open.get(life)?.close();
    life.die();
  }

  /** A process whose work failed does it once more. */
  workAgain(life: Life): Promise<LifeEnd> {
    const store = this.#open.get(life);
    if (store === undefined) throw new Error(`Process ${life.number} has no store open.`);
    return this.#work(life, store);
  }

  async dispose(): Promise<void> {
    for (const life of Array.from(this.#open.keys())) await this.bury(life);
    await this.observer.close();
  }

  async #work(life: Life, inner: Store): Promise<LifeEnd> {
    const tools = this.#toolsOf(life, inner);
    const work = this.faults === null ? workUntilTheEnd : workInSpiteOfSilence;
    const act = this.scenario.act ?? ((given: ProcessTools) => work(this.scenario, given));
    const end = (async () => act(tools))().then(
      (value): LifeEnd => ({ kind: "returned", value }),
      (error: unknown): LifeEnd => threw(error),
    );
    return Promise.race([end, life.death.then((): LifeEnd => ({ kind: "died" }))]);
  }

  #toolsOf(life: Life, inner: Store): ProcessTools {
    const { scenario, witness } = this;
    const store = portedStore(inner, life, {
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
    const common = { workspaceRoot: this.#folder, leaseMs: this.leaseMs, ...scenario.runner };
    const runnerOf = (target: Agent | StepNode, options: RunnerOptions = {}) =>
      new Runner(target, { ...common, ...options, ...ports });
    return {
      runner: runnerOf(scenario.pipeline),
      store,
      runnerOf,
      options: { ...common, ...ports },
      answer: (waits) => answerAll(store, witness, scenario.person ?? {}, waits),
      life: life.number,
    };
  }
}

/** Turns of the event loop in which nobody does anything: what was set in motion has come to rest. */
const QUIET_TURNS = 3;

/** Longer than anything takes that answers at all. */
const SLOW_AFTER_MS = 5_000;

const STILL_SLOW_AFTER_MS = 20;

const STUCK_AFTER_MS = 10_000;

const FIRST_MOMENT = Date.UTC(2026, 0, 1);

/** A machine that is looked at again by another process finds that some time has gone by. */
const BETWEEN_LIVES_MS = 60_000;

/** Code reads or writes files on its own, or gives way to others: it comes back, however many turns that takes. */
function isComingBack(): boolean {
  return process.getActiveResourcesInfo().some((resource) => COMING_BACK.has(resource));
}

/** What Node calls what it comes back from. */
const COMING_BACK: ReadonlySet<string> = new Set(["FSReqPromise", "FSReqCallback", "CloseReq", "Immediate"]);

export function databaseIn(folder: string): string {
  return join(folder, "pawl.db");
}

export function witnessIn(folder: string): string {
  return join(folder, "witness.jsonl");
}

/** The end of a process whose work threw this. */
export function threw(error: unknown): LifeEnd {
  const isDiverged = error instanceof ResumeError && error.irrecoverable;
  const name = PawlError.isInstance(error) || error instanceof Error ? error.name : typeof error;
  return { kind: "threw", name, message: error instanceof Error ? error.message : String(error), isDiverged };
}
