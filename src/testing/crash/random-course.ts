import { setTimeout as sleep } from "node:timers/promises";
import type { ModelCallPlace } from "../../engine/run/effects-port.ts";
import { type Course, lifeRecord, type RunAccount, readAccounts } from "./evidence.ts";
import { type Gate, type Life, NO_GATE } from "./life.ts";
import type { ModelFault } from "./model-fault.ts";
import { isSamePoint, type Point, pointText } from "./point.ts";
import { pick } from "./seeded-random.ts";
import type { LifeEnd, World } from "./world.ts";

/**
 * Several processes work on the run at the same time, and everything else is by chance: who goes on, who dies, who is
 * stopped and woken, how time goes by, what the clock on the wall is set to and what the provider does. After a while all
 * of that ends, and everybody is left alone until they are through; then one more process looks at what there is.
 *
 * Whoever comes to a point waits there. Something is picked only when nobody is at work, and by `random` alone, so the same
 * numbers make the same course, step by step.
 */
export function performRandomly(world: World, random: () => number): Promise<Course> {
  return new RandomCourse(world, random).perform();
}

/** A process, with the points at which it waits to go on. */
type Worker = {
  readonly life: Life;
  readonly standing: Map<string, Standing>;
  end: LifeEnd | null;
};

type Standing = { readonly point: Point; readonly since: number; readonly go: () => void };

/** How often each kind of thing is done. Each course has its own, so that some are wild in one way only. */
type Mood = {
  /** How many processes there are at the same time, at most. */
  readonly atOnce: number;
  readonly crash: number;
  readonly start: number;
  readonly pause: number;
  readonly wake: number;
  readonly time: number;
  readonly jump: number;
  readonly fault: number;
};

class RandomCourse {
  readonly #world: World;
  readonly #random: () => number;
  readonly #mood: Mood;
  readonly #workers: Worker[] = [];
  readonly #moments: (readonly RunAccount[])[] = [];
  /** Which turns a process has been failed on by the provider. */
  readonly #failed = new Set<string>();
  /** Somebody was held up at a tool call. */
  #hasHeldUp = false;
  /** How far the clock on the wall is from where it would be. */
  #wallOffset = 0;
  /** When it was set forth, by how much time has really gone by. */
  #setForthAt = Number.NEGATIVE_INFINITY;
  #isCalm = false;

  constructor(world: World, random: () => number) {
    this.#world = world;
    this.#random = random;
    const sometimes = (most: number) => (random() < 0.3 ? 0 : random() * most);
    this.#mood = {
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

  async perform(): Promise<Course> {
    const world = this.#world;
    world.faults = (life, place) => this.#faultOf(life, place);
    const picks = FEWEST_PICKS + Math.floor(this.#random() ** 2 * (MOST_PICKS - FEWEST_PICKS));
    await this.#start();
    for (let i = 0; i < picks && this.#living().length > 0; i++) await this.#disturb();
    await this.#calmDown();
    // Whoever ended without letting go of the run has it until its lease is over, by a clock that may have been set back.
    world.time.pass((1 + 2 * FURTHEST_LEASES) * world.leaseMs);
    const last = await world.live(NO_GATE);
    await world.leave(last.life);
    const lives = this.#workers.map(({ life, end }) => lifeRecord(life, end ?? { kind: "stuck" }));
    return { lives: [...lives, lifeRecord(last.life, last.end)], moments: this.#moments };
  }

  /** One thing by chance, and then until nobody is at work. */
  async #disturb(): Promise<void> {
    const { atOnce, crash, start, pause, wake, time, jump } = this.#mood;
    const living = this.#living();
    const awake = living.filter(({ life }) => life.state === "alive");
    const stopped = living.filter(({ life }) => life.state === "paused");
    const ready = awake.filter(({ standing }) => standing.size > 0);
    const busy = ready.filter((worker) => !isOnlyPolling(worker));
    // Between the last look at the lease and the send is one call of a function: time goes by in it only where the
    // process is stopped.
    const mayTimePass = !awake.some(isAboutToSend);
    const choices: readonly (readonly [weight: number, act: () => Promise<void> | void])[] = [
      [busy.length > 0 ? 1 : 0, () => this.#letGo(pick(this.#random, busy))],
      [ready.length > busy.length ? 0.05 : 0, () => this.#letGo(pick(this.#random, ready))],
      [crash, () => this.#crash(this.#pickAmong(busy, living))],
      [living.length < atOnce && !this.#isOver() ? start : 0, () => this.#start()],
      [awake.length > 0 ? pause : 0, () => this.#pause(this.#pickAmong(busy, awake))],
      [stopped.length > 0 ? wake : 0, () => pick(this.#random, stopped).life.wake()],
      [mayTimePass ? time : 0, () => this.#pass(awake)],
      [mayTimePass && busy.length === 0 ? 1 : 0, () => this.#waitForTime(stopped)],
      [mayTimePass ? jump : 0, () => this.#jump(awake)],
    ];
    await this.#choose(choices)();
    await this.#world.quiet();
    await this.#seeOff();
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

  /** Mostly one of those who do something. */
  #pickAmong(busy: readonly Worker[], all: readonly Worker[]): Worker {
    return pick(this.#random, busy.length > 0 && this.#random() < 0.7 ? busy : all);
  }

  async #start(): Promise<void> {
    const standing: Worker["standing"] = new Map();
    const gate: Gate = (life, point) => {
      if (this.#isCalm && !isPolling(life, point)) return;
      return new Promise<void>((go) => {
        standing.set(pointText(point), { point, since: this.#world.time.now(), go });
      });
    };
    const { life, end } = await this.#world.start(gate);
    const worker: Worker = { life, standing, end: null };
    this.#workers.push(worker);
    void end.then((how) => {
      worker.end = how;
    });
    await this.#world.quiet();
  }

  /** One goes on; or several writes that were asked for meanwhile go on together, and into one transaction. */
  #letGo({ standing }: Worker): void {
    const there = [...standing.keys()].sort();
    const one = pick(this.#random, there);
    const isTogether = this.#random() < 0.2;
    const writes = there.filter((text) => text.startsWith("before store."));
    for (const text of isTogether && writes.includes(one) ? writes : [one]) {
      standing.get(text)?.go();
      standing.delete(text);
    }
  }

  async #crash(worker: Worker): Promise<void> {
    if (isAtTools(worker) && !(await this.#canCallsBearIt())) return;
    worker.standing.clear();
    await this.#world.bury(worker.life);
    this.#moments.push(await readAccounts(this.#world.observer));
    if (this.#living().length <= 1 && !this.#isOver()) await this.#start();
  }

  /** Often for longer than its lease, with somebody there who takes the run meanwhile. */
  async #pause(worker: Worker): Promise<void> {
    if (!(await this.#mayHoldUp([worker]))) return;
    const { life } = worker;
    life.pause();
    // What it was in the middle of goes on when it wakes, as what it stood before does.
    life.pausedAt.push(...underWay(life));
    if (this.#random() < 0.4) return;
    const isAwake = (other: Worker) => other.life.state === "alive";
    if (!this.#living().some(isAwake)) await this.#start();
    const others = this.#living().filter(isAwake);
    if (!others.some(isAtTools)) this.#world.time.pass(this.#world.leaseMs + 1);
  }

  async #pass(awake: readonly Worker[]): Promise<void> {
    if (await this.#mayHoldUp(awake)) this.#world.time.pass(this.#someTime());
  }

  /** A tool call times out where its process is held up. Once in a course is enough. */
  async #mayHoldUp(workers: readonly Worker[]): Promise<boolean> {
    if (!workers.some(isAtTools)) return true;
    if (this.#hasHeldUp || !(await this.#canCallsBearIt())) return false;
    this.#hasHeldUp = true;
    return true;
  }

  /**
   * A try that is lost or times out counts, and a call is given up on after a few: then the run would end in another way
   * than undisturbed, and rightly so. One try is left for what the tool does by itself.
   */
  async #canCallsBearIt(): Promise<boolean> {
    const { observer, scenario } = this.#world;
    const retries = scenario.runner?.maxRetriesPerToolCall ?? DEFAULT_RETRIES;
    const runs = await observer.listRuns();
    const calls = (await Promise.all(runs.map(({ runId }) => observer.listToolCalls(runId)))).flat();
    return calls.every(({ receipt, attempt }) => receipt !== null || attempt < retries);
  }

  /** Nobody can go on but by time; and where time brings nothing, the stopped have to be woken. */
  async #waitForTime(stopped: readonly Worker[]): Promise<void> {
    if (this.#world.goOn()) return;
    if (stopped.length > 0) pick(this.#random, stopped).life.wake();
    else await sleep(1);
  }

  #someTime(): number {
    const { leaseMs } = this.#world;
    return Math.floor(this.#random() * pick(this.#random, [10, 1_000, leaseMs / 2, leaseMs * 1.5]));
  }

  /**
   * Somebody sets the clock on the wall; it is never far from where it was. One that is set forth and soon back again, so
   * that another process finds a lease to be over and its owner does not, is more than anybody promises for.
   */
  async #jump(awake: readonly Worker[]): Promise<void> {
    if (awake.some(isAtTools) && !(await this.#canCallsBearIt())) return;
    const { leaseMs, time } = this.#world;
    const furthest = pick(this.#random, [1_000, leaseMs / 2, FURTHEST_LEASES * leaseMs]);
    const offset = Math.floor((this.#random() * 2 - 1) * furthest);
    const elapsed = time.now() - this.#wallOffset;
    if (offset < this.#wallOffset && elapsed < this.#setForthAt + leaseMs) return;
    if (offset > this.#wallOffset) this.#setForthAt = elapsed;
    time.jump(offset - this.#wallOffset);
    this.#wallOffset = offset;
  }

  /** At most once for each turn that a process asks for, since it gives up after a few tries. */
  #faultOf(life: number, { runId, stepPath, turnIndex }: ModelCallPlace): ModelFault | null {
    if (this.#isCalm || this.#random() >= this.#mood.fault) return null;
    const turn = JSON.stringify([life, runId, stepPath, turnIndex]);
    if (this.#failed.has(turn)) return null;
    this.#failed.add(turn);
    // One that fell silent fails the run, and only the explorer's own act resumes it.
    const faults =
      this.#world.scenario.act === undefined ? FAULTS : FAULTS.filter((fault) => fault !== "silent");
    return pick(this.#random, faults);
  }

  /** Everybody goes on, and nothing is done to them any more. */
  async #calmDown(): Promise<void> {
    this.#isCalm = true;
    const world = this.#world;
    for (const { life } of this.#living()) life.wake();
    this.#letAllGo(() => true);
    for (let idle = 0; idle < STUCK_AFTER_LOOKS; ) {
      const rest = await world.quiet();
      await this.#seeOff();
      if (this.#living().length === 0) return;
      const isDue = ({ since }: Standing) => world.time.now() - since >= POLL_AGAIN_MS;
      // Whoever has not answered for so long answers nobody: time goes on to where that is given up.
      const goOn = () => (rest === "slow" ? world.time.goOn({ untilTimeouts: true }) : world.goOn());
      if (this.#letAllGo(isDue) || goOn() || this.#letAllGo(() => true)) {
        idle = 0;
        continue;
      }
      // Somebody does what no port knows of.
      await sleep(1);
      idle += rest === "slow" ? 20 : 1;
    }
    for (const { life } of this.#living()) await world.bury(life);
  }

  /** False where there was nobody. */
  #letAllGo(which: (one: Standing) => boolean): boolean {
    let hasGone = false;
    for (const { standing } of this.#living())
      for (const [text, one] of [...standing].filter(([, there]) => which(there))) {
        standing.delete(text);
        one.go();
        hasGone = true;
      }
    return hasGone;
  }

  /** Those who have done their work end, once nothing that they set in motion wants to go on. */
  async #seeOff(): Promise<void> {
    for (const { life, end, standing } of this.#workers)
      if (end !== null && life.state === "alive" && standing.size === 0) await this.#world.leave(life);
  }

  /** Somebody has come to the end: whoever starts now finds nothing to do. */
  #isOver(): boolean {
    return this.#workers.some(({ end }) => end?.kind === "returned");
  }

  #living(): readonly Worker[] {
    return this.#workers.filter(({ life }) => life.state !== "dead");
  }
}

const FEWEST_PICKS = 20;
const MOST_PICKS = 400;

const FAULTS: readonly ModelFault[] = ["failed", "refused", "request-lost", "answer-lost", "silent"];

/** Whoever waits for a run looks ten times a second. It is enough here that it looks now and then. */
const POLL_AGAIN_MS = 30_000;

/** How often it is looked whether somebody goes on who has nothing to wait for. */
const STUCK_AFTER_LOOKS = 10_000;

/** How far the clock on the wall is set, in leases. */
const FURTHEST_LEASES = 2;

/** As the runner has it, where nothing else is said. */
const DEFAULT_RETRIES = 2;

const TOOL_WORK: readonly string[] = [
  "store.journalResponse",
  "store.startToolCalls",
  "store.openToolCall",
  "store.correlateToolCall",
  "store.endToolCallAttempt",
  "store.recordReceipt",
];

/** From before its calls are in the ledger, when their time begins to count, until something else is done. */
function isAtTools({ life: { reached } }: Worker): boolean {
  const last = reached.findLast(({ call }) => call !== "clock.sleep" && call !== "store.renewLease");
  if (last === undefined) return false;
  return /^(tool|reconcile)\./.test(last.call) || TOOL_WORK.includes(last.call);
}

/** The beginnings of calls that have not come to their end. */
function underWay({ reached }: Life): readonly Point[] {
  const isEnded = (begun: Point) => reached.some((point) => isSamePoint(point, { ...begun, phase: "after" }));
  return reached.filter((point) => point.phase === "before" && !isEnded(point));
}

function isAboutToSend({ standing }: Worker): boolean {
  return [...standing.values()].some(
    // A mark is written in microseconds.
    ({ point: { phase, call } }) =>
      call === "store.beginEffect" || (phase === "before" && call.startsWith("tool.")),
  );
}

function isOnlyPolling({ life, standing }: Worker): boolean {
  return [...standing.values()].every(({ point }) => isPolling(life, point));
}

/** It waits for a run that another one has. */
function isPolling({ reached }: Life, { phase, call }: Point): boolean {
  if (phase !== "after" || call !== "clock.sleep") return false;
  const written = reached.findLast((point) => point.call.startsWith("store."));
  return written?.call === "store.claimRun";
}
