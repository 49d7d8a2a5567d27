import { setTimeout as sleep } from "node:timers/promises";
import type { ModelAttemptId } from "../../engine/run/effects-port.ts";
import { processRecord, type RunAccount, readAccounts, type ScheduleOutcome } from "./evidence.ts";
import type { ModelFault } from "./model-fault.ts";
import { isSamePoint, type Point, pointText } from "./point.ts";
import { pick } from "./seeded-random.ts";
import { type Gate, NO_GATE, type SimulatedProcess } from "./simulated-process.ts";
import type { ProcessOutcome, World } from "./world.ts";

/**
 * Several processes work on the run at the same time, and everything else is random: which process continues, dies, is
 * stopped or woken, how time passes, how the wall clock is set and what the provider does. After a while the faults stop,
 * and every process is left alone until it ends; then one more process checks that nothing is left to do.
 *
 * A process that reaches a point waits there. The next action is picked only when no process is working, and from
 * `random` alone, so the same numbers make the same schedule, step by step.
 */
export function runAtRandom(world: World, random: () => number): Promise<ScheduleOutcome> {
  return new RandomSchedule(world, random).run();
}

/** A process, with its calls that are blocked at a point, by the text of the point. */
type RandomWorker = {
  readonly life: SimulatedProcess;
  readonly blocked: Map<string, BlockedCall>;
  end: ProcessOutcome | null;
};

type BlockedCall = { readonly point: Point; readonly since: number; readonly proceed: () => void };

/** The weight of each kind of action. Each schedule has its own rates, so that some have one kind of fault only. */
type FaultRates = {
  /** The most processes at the same time. */
  readonly atOnce: number;
  readonly crash: number;
  readonly start: number;
  readonly pause: number;
  readonly wake: number;
  readonly time: number;
  readonly jump: number;
  readonly fault: number;
};

class RandomSchedule {
  readonly #world: World;
  readonly #random: () => number;
  readonly #rates: FaultRates;
  readonly #workers: RandomWorker[] = [];
  readonly #moments: (readonly RunAccount[])[] = [];
  /** The turns on which the provider has already failed a process. */
  readonly #failed = new Set<string>();
  /** A process was delayed in a tool call. */
  #hasDelayedTool = false;
  /** How far the wall clock is from the elapsed time. */
  #wallOffset = 0;
  /** When the wall clock was last set forward, in elapsed time. */
  #clockAdvancedAt = Number.NEGATIVE_INFINITY;
  #isQuiescent = false;

  constructor(world: World, random: () => number) {
    this.#world = world;
    this.#random = random;
    const sometimes = (most: number) => (random() < 0.3 ? 0 : random() * most);
    this.#rates = {
      atOnce: 2 + Math.floor(random() * 3),
      crash: sometimes(0.06),
      start: 0.02 + random() * 0.08,
      pause: sometimes(0.08),
      wake: 0.005 + random() ** 2 * 0.2,
      time: sometimes(0.2),
      jump: sometimes(0.04),
      fault: sometimes(0.5),
    };
  }

  async run(): Promise<ScheduleOutcome> {
    const world = this.#world;
    world.faults = (life, place) => this.#faultOf(life, place);
    const actions = MIN_ACTIONS + Math.floor(this.#random() ** 2 * (MAX_ACTIONS - MIN_ACTIONS));
    await this.#start();
    for (let i = 0; i < actions && this.#living().length > 0; i++) await this.#disturb();
    await this.#quiesce();
    // A process that ended without releasing the run owns it until its lease ends, by a clock that may have been set back.
    world.time.advance((1 + 2 * MAX_JUMP_LEASES) * world.leaseMs);
    const last = await world.runProcess(NO_GATE);
    await world.exit(last.life);
    const lives = this.#workers.map(({ life, end }) => processRecord(life, end ?? { kind: "stuck" }));
    return { lives: [...lives, processRecord(last.life, last.end)], moments: this.#moments };
  }

  /** One random action, then waits until no process is working. */
  async #disturb(): Promise<void> {
    const { atOnce, crash, start, pause, wake, time, jump } = this.#rates;
    const living = this.#living();
    const awake = living.filter(({ life }) => life.state === "alive");
    const stopped = living.filter(({ life }) => life.state === "paused");
    const ready = awake.filter(({ blocked }) => blocked.size > 0);
    const busy = ready.filter((worker) => !isOnlyPolling(worker));
    // Between the last check of the lease and the send is one function call: time passes in it only if the process is
    // stopped.
    const mayTimePass = !awake.some(isAboutToSend);
    const choices: readonly (readonly [weight: number, act: () => Promise<void> | void])[] = [
      [busy.length > 0 ? 1 : 0, () => this.#proceed(pick(this.#random, busy))],
      [ready.length > busy.length ? 0.05 : 0, () => this.#proceed(pick(this.#random, ready))],
      [crash, () => this.#crash(this.#pickAmong(busy, living))],
      [living.length < atOnce && !this.#hasReturned() ? start : 0, () => this.#start()],
      [awake.length > 0 ? pause : 0, () => this.#pause(this.#pickAmong(busy, awake))],
      [stopped.length > 0 ? wake : 0, () => pick(this.#random, stopped).life.wake()],
      [mayTimePass ? time : 0, () => this.#advanceTime(awake)],
      [mayTimePass && busy.length === 0 ? 1 : 0, () => this.#waitForTime(stopped)],
      [mayTimePass ? jump : 0, () => this.#jump(awake)],
    ];
    await this.#choose(choices)();
    await this.#world.untilQuiet();
    await this.#exitDone();
  }

  #choose<T>(choices: readonly (readonly [weight: number, act: T])[]): T {
    const possible = choices.filter(([weight]) => weight > 0);
    let left = this.#random() * possible.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, act] of possible) {
      left -= weight;
      if (left < 0) return act;
    }
    return pick(this.#random, possible)[1];
  }

  /** Mostly one of the busy processes. */
  #pickAmong(busy: readonly RandomWorker[], all: readonly RandomWorker[]): RandomWorker {
    return pick(this.#random, busy.length > 0 && this.#random() < 0.7 ? busy : all);
  }

  async #start(): Promise<void> {
    const blocked: RandomWorker["blocked"] = new Map();
    const gate: Gate = (life, point) => {
      if (this.#isQuiescent && !isPolling(life, point)) return;
      return new Promise<void>((proceed) => {
        blocked.set(pointText(point), { point, since: this.#world.time.now(), proceed });
      });
    };
    const { life, end } = await this.#world.start(gate);
    const worker: RandomWorker = { life, blocked, end: null };
    this.#workers.push(worker);
    void end.then((outcome) => {
      worker.end = outcome;
    });
    await this.#world.untilQuiet();
  }

  /** One blocked call proceeds; or all pending writes proceed together, into one transaction. */
  #proceed({ blocked }: RandomWorker): void {
    const pending = [...blocked.keys()].sort();
    const one = pick(this.#random, pending);
    const isTogether = this.#random() < 0.2;
    const writes = pending.filter((text) => text.startsWith("before store."));
    for (const text of isTogether && writes.includes(one) ? writes : [one]) {
      blocked.get(text)?.proceed();
      blocked.delete(text);
    }
  }

  async #crash(worker: RandomWorker): Promise<void> {
    if (isAtTools(worker) && !(await this.#haveCallsAttemptsLeft())) return;
    worker.blocked.clear();
    await this.#world.crash(worker.life);
    this.#moments.push(await readAccounts(this.#world.observer));
    if (this.#living().length <= 1 && !this.#hasReturned()) await this.#start();
  }

  /** Often for longer than its lease, with another process there to take the run meanwhile. */
  async #pause(worker: RandomWorker): Promise<void> {
    if (!(await this.#mayDelay([worker]))) return;
    const { life } = worker;
    life.pause();
    // Calls in progress continue when it wakes, as the blocked ones do.
    life.pausedAt.push(...callsInProgress(life));
    if (this.#random() < 0.4) return;
    const isAwake = (other: RandomWorker) => other.life.state === "alive";
    if (!this.#living().some(isAwake)) await this.#start();
    const others = this.#living().filter(isAwake);
    if (!others.some(isAtTools)) this.#world.time.advance(this.#world.leaseMs + 1);
  }

  async #advanceTime(awake: readonly RandomWorker[]): Promise<void> {
    if (await this.#mayDelay(awake)) this.#world.time.advance(this.#someTime());
  }

  /** A tool call times out if its process is delayed. Once per schedule is enough. */
  async #mayDelay(workers: readonly RandomWorker[]): Promise<boolean> {
    if (!workers.some(isAtTools)) return true;
    if (this.#hasDelayedTool || !(await this.#haveCallsAttemptsLeft())) return false;
    this.#hasDelayedTool = true;
    return true;
  }

  /**
   * An attempt that is lost or times out counts, and a call fails after a few: then the run would rightly end in another
   * way than undisturbed. One attempt is left for the tool's own failures.
   */
  async #haveCallsAttemptsLeft(): Promise<boolean> {
    const { observer, scenario } = this.#world;
    const retries = scenario.runner?.maxRetriesPerToolCall ?? DEFAULT_RETRIES;
    const runs = await observer.listRuns();
    const calls = (await Promise.all(runs.map(({ runId }) => observer.listToolCalls(runId)))).flat();
    return calls.every(({ receipt, attempt }) => receipt !== null || attempt < retries);
  }

  /** No process can continue unless time advances; if that does not help either, a stopped one is woken. */
  async #waitForTime(stopped: readonly RandomWorker[]): Promise<void> {
    if (this.#world.advanceTime()) return;
    if (stopped.length > 0) pick(this.#random, stopped).life.wake();
    else await sleep(1);
  }

  #someTime(): number {
    const { leaseMs } = this.#world;
    return Math.floor(this.#random() * pick(this.#random, [10, 1_000, leaseMs / 2, leaseMs * 1.5]));
  }

  /**
   * Sets the wall clock, never far from the elapsed time. A clock that is set forward and back again within a lease, so
   * that another process sees a lease as expired and its owner does not, is outside of what is promised.
   */
  async #jump(awake: readonly RandomWorker[]): Promise<void> {
    if (awake.some(isAtTools) && !(await this.#haveCallsAttemptsLeft())) return;
    const { leaseMs, time } = this.#world;
    const furthest = pick(this.#random, [1_000, leaseMs / 2, MAX_JUMP_LEASES * leaseMs]);
    const offset = Math.floor((this.#random() * 2 - 1) * furthest);
    const elapsed = time.now() - this.#wallOffset;
    if (offset < this.#wallOffset && elapsed < this.#clockAdvancedAt + leaseMs) return;
    if (offset > this.#wallOffset) this.#clockAdvancedAt = elapsed;
    time.shiftWallClock(offset - this.#wallOffset);
    this.#wallOffset = offset;
  }

  /** At most one fault for each turn that a process asks for, since it gives up after a few attempts. */
  #faultOf(life: number, { runId, stepPath, turnIndex }: ModelAttemptId): ModelFault | null {
    if (this.#isQuiescent || this.#random() >= this.#rates.fault) return null;
    const turn = JSON.stringify([life, runId, stepPath, turnIndex]);
    if (this.#failed.has(turn)) return null;
    this.#failed.add(turn);
    // A silent provider fails the run, and only the default act resumes it.
    const faults =
      this.#world.scenario.act === undefined ? FAULTS : FAULTS.filter((fault) => fault !== "silent");
    return pick(this.#random, faults);
  }

  /** Ends the faults, and lets every process run to its end. */
  async #quiesce(): Promise<void> {
    this.#isQuiescent = true;
    const world = this.#world;
    for (const { life } of this.#living()) life.wake();
    this.#proceedAll(() => true);
    for (let idle = 0; idle < STUCK_AFTER_CHECKS; ) {
      const rest = await world.untilQuiet();
      await this.#exitDone();
      if (this.#living().length === 0) return;
      const isDue = ({ since }: BlockedCall) => world.time.now() - since >= POLL_AGAIN_MS;
      // A call that has taken this long will not return: time advances to its timeout.
      const advance = () =>
        rest === "slow" ? world.time.advanceToNextTimer({ includeTimeouts: true }) : world.advanceTime();
      if (this.#proceedAll(isDue) || advance() || this.#proceedAll(() => true)) {
        idle = 0;
        continue;
      }
      // Some code does work that goes through no port.
      await sleep(1);
      idle += rest === "slow" ? 20 : 1;
    }
    for (const { life } of this.#living()) await world.crash(life);
  }

  /** False if there was no such call. */
  #proceedAll(which: (call: BlockedCall) => boolean): boolean {
    let hasProceeded = false;
    for (const { blocked } of this.#living())
      for (const [text, call] of [...blocked].filter(([, each]) => which(each))) {
        blocked.delete(text);
        call.proceed();
        hasProceeded = true;
      }
    return hasProceeded;
  }

  /** Processes that have done their work exit, once they have no blocked call. */
  async #exitDone(): Promise<void> {
    for (const { life, end, blocked } of this.#workers)
      if (end !== null && life.state === "alive" && blocked.size === 0) await this.#world.exit(life);
  }

  /** A process has finished the work: one that starts now finds nothing to do. */
  #hasReturned(): boolean {
    return this.#workers.some(({ end }) => end?.kind === "returned");
  }

  #living(): readonly RandomWorker[] {
    return this.#workers.filter(({ life }) => life.state !== "dead");
  }
}

const MIN_ACTIONS = 20;
const MAX_ACTIONS = 400;

const FAULTS: readonly ModelFault[] = ["failed", "refused", "request-lost", "answer-lost", "silent"];

/** A process that waits for a run polls ten times a second. Here it is enough that it polls now and then. */
const POLL_AGAIN_MS = 30_000;

/** Idle checks before a process that waits for nothing counts as stuck. */
const STUCK_AFTER_CHECKS = 10_000;

/** The furthest that the wall clock is set, in leases. */
const MAX_JUMP_LEASES = 2;

/** The runner's default. */
const DEFAULT_RETRIES = 2;

const TOOL_WORK: readonly string[] = [
  "store.journalResponse",
  "store.startToolCalls",
  "store.openToolCall",
  "store.correlateToolCall",
  "store.endToolCallAttempt",
  "store.recordReceipt",
];

/** True from before its calls are in the ledger, when their timeouts start, until it does something else. */
function isAtTools({ life: { reached } }: RandomWorker): boolean {
  const last = reached.findLast(({ call }) => call !== "clock.sleep" && call !== "store.renewLease");
  if (last === undefined) return false;
  return /^(tool|reconcile)\./.test(last.call) || TOOL_WORK.includes(last.call);
}

/** The points before calls that have not returned. */
function callsInProgress({ reached }: SimulatedProcess): readonly Point[] {
  const isEnded = (begun: Point) => reached.some((point) => isSamePoint(point, { ...begun, phase: "after" }));
  return reached.filter((point) => point.phase === "before" && !isEnded(point));
}

function isAboutToSend({ blocked }: RandomWorker): boolean {
  return [...blocked.values()].some(
    // A sent mark is written in microseconds.
    ({ point: { phase, call } }) =>
      call === "store.beginEffect" || (phase === "before" && call.startsWith("tool.")),
  );
}

function isOnlyPolling({ life, blocked }: RandomWorker): boolean {
  return [...blocked.values()].every(({ point }) => isPolling(life, point));
}

/** True if it waits for a run that another process owns. */
function isPolling({ reached }: SimulatedProcess, { phase, call }: Point): boolean {
  if (phase !== "after" || call !== "clock.sleep") return false;
  const written = reached.findLast((point) => point.call.startsWith("store."));
  return written?.call === "store.claimRun";
}
