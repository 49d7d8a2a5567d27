import type { Clock } from "../../engine/ports/clock.ts";
import type { Point } from "./point.ts";
import type { SimulatedTime, TimeOwner } from "./simulated-time.ts";

/** Asked at every point, before the process goes on. It may end or stop the process there, or keep it waiting. */
export type Gate = (life: Life, point: Point) => Promise<void> | void;

export const NO_GATE: Gate = () => undefined;

/** How many calls to the outside are being served, by all processes of a machine. */
export type Activity = { underWay: number; hanging: number };

/**
 * One process of a simulated machine, from its start to its end. Whatever it calls goes through here. Once it is dead no
 * call of it is made and none returns, so nothing that its code still does reaches anything: all of its memory is lost.
 */
export class Life implements TimeOwner {
  readonly number: number;
  readonly clock: Clock;
  /** Resolves when it dies. */
  readonly death: Promise<void>;
  /** The points it has come to, in order. */
  readonly reached: Point[] = [];
  /** Those of them that it stood at while time went by. */
  readonly pausedAt: Point[] = [];
  /** Whether its disk takes nothing at the moment. */
  isDiskFull = false;
  readonly #gate: Gate;
  readonly #activity: Activity;
  readonly #time: SimulatedTime;
  readonly #calls = new Map<string, number>();
  readonly #served = new Set<Promise<unknown>>();
  readonly #dying = Promise.withResolvers<void>();
  #state: TimeOwner["state"] = "alive";
  #waking = Promise.withResolvers<void>();

  constructor(number: number, time: SimulatedTime, activity: Activity, gate: Gate) {
    this.number = number;
    this.#gate = gate;
    this.#activity = activity;
    this.#time = time;
    this.death = this.#dying.promise;
    this.clock = this.#ported(time.clockOf(this));
  }

  get state(): TimeOwner["state"] {
    return this.#state;
  }

  /** Power is gone. */
  die(): void {
    this.#state = "dead";
    this.#time.forget(this);
    this.#dying.resolve();
  }

  /** As SIGSTOP does: nothing of it goes on, and it knows of nothing. */
  pause(): void {
    if (this.#state === "alive") this.#state = "paused";
  }

  wake(): void {
    if (this.#state !== "paused") return;
    this.#state = "alive";
    this.#waking.resolve();
    this.#waking = Promise.withResolvers();
    // What fell due while it stood still goes off now.
    this.#time.pass(0);
  }

  /** A call with a point before it and one after it, whether it succeeds or not. */
  through<T>(call: string, work: (nth: number) => T | Promise<T>): Promise<T> {
    return this.#around(call, (nth) => this.#serve(() => work(nth)));
  }

  /** A call that changes nothing: a crash before or after it is a crash at the next point. */
  async look<T>(work: () => T | Promise<T>): Promise<T> {
    await this.#goingOn();
    const value = await this.#serve(work);
    await this.#goingOn();
    return value;
  }

  /** Lets time go by, on behalf of somebody outside; without points, since nothing of the process is called. */
  sleeps(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#time.clockOf(this).sleep(ms, signal);
  }

  /** What is served has come to its end: of what was on its way when it died, nothing arrives later. */
  async allServed(): Promise<void> {
    while (this.#served.size > 0) await Promise.allSettled(this.#served);
  }

  async #around<T>(call: string, work: (nth: number) => Promise<T>): Promise<T> {
    const nth = (this.#calls.get(call) ?? 0) + 1;
    this.#calls.set(call, nth);
    await this.#come({ phase: "before", call, nth });
    try {
      return await work(nth);
    } finally {
      await this.#come({ phase: "after", call, nth });
    }
  }

  async #come(point: Point): Promise<void> {
    const cameAt = this.#time.now();
    await this.#goingOn();
    this.reached.push(point);
    await this.#gate(this, point);
    await this.#goingOn();
    if (this.#time.now() !== cameAt) this.pausedAt.push(point);
  }

  async #goingOn(): Promise<void> {
    while (this.#state === "paused") await this.#waking.promise;
    if (this.#state === "dead") await NEVER;
  }

  async #serve<T>(work: () => T | Promise<T>): Promise<T> {
    this.#activity.underWay += 1;
    const served = (async () => work())();
    this.#served.add(served);
    try {
      return await served;
    } finally {
      this.#served.delete(served);
      this.#activity.underWay -= 1;
    }
  }

  #ported(clock: Clock): Clock {
    const sleep = (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal);
    return { ...clock, sleep: (ms, signal) => this.#around("clock.sleep", () => sleep(ms, signal)) };
  }
}

const NEVER = new Promise<never>(() => undefined);
