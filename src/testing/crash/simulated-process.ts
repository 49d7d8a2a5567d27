import type { Clock } from "../../engine/ports/clock.ts";
import type { StoreActivity } from "./databases/crash-database.ts";
import type { Point } from "./point.ts";
import type { SimulatedTime, TimerOwner } from "./simulated-time.ts";

/** Called at every point, before the process continues. It may kill or stop the process there, or keep it waiting. */
export type Gate = (life: SimulatedProcess, point: Point) => Promise<void> | void;

export const NO_GATE: Gate = () => undefined;

/** How many calls to the outside are in flight, over all processes of a machine. */
export type Activity = StoreActivity & { hanging: number };

/**
 * One process of a simulated machine, from its start to its end. All its calls go through here. Once it is dead, no call
 * is made and none returns, so its code can no longer reach anything: its memory is lost.
 */
export class SimulatedProcess implements TimerOwner {
  readonly number: number;
  readonly clock: Clock;
  /** Resolves when it dies. */
  readonly death: Promise<void>;
  /** The points it has reached, in order. */
  readonly reached: Point[] = [];
  /** The reached points at which simulated time passed while it stood there. */
  readonly pausedAt: Point[] = [];
  /** It reads for ever, and does nothing else. */
  isStuck = false;
  readonly #gate: Gate;
  readonly #activity: Activity;
  readonly #time: SimulatedTime;
  readonly #calls = new Map<string, number>();
  /** Its reads since the last point, all at one time. */
  #reads = { count: 0, at: 0 };
  readonly #served = new Set<Promise<unknown>>();
  /** Timers of its store that a call waits for. */
  #asleep = 0;
  readonly #dying = Promise.withResolvers<void>();
  #state: TimerOwner["state"] = "alive";
  #waking = Promise.withResolvers<void>();

  constructor(number: number, time: SimulatedTime, activity: Activity, gate: Gate) {
    this.number = number;
    this.#gate = gate;
    this.#activity = activity;
    this.#time = time;
    this.death = this.#dying.promise;
    this.clock = this.#withPoints(time.clockOf(this));
  }

  get state(): TimerOwner["state"] {
    return this.#state;
  }

  /** As a power cut does. */
  die(): void {
    this.#state = "dead";
    this.#time.cancelTimers(this);
    this.#dying.resolve();
  }

  /** As SIGSTOP does: it stands still, and does not notice. */
  pause(): void {
    if (this.#state === "alive") this.#state = "paused";
  }

  wake(): void {
    if (this.#state !== "paused") return;
    this.#state = "alive";
    this.#waking.resolve();
    this.#waking = Promise.withResolvers();
    // Timers that fell due meanwhile fire now.
    this.#time.advance(0);
  }

  /** A call with a point before it and one after it, whether it succeeds or not. */
  call<T>(name: string, work: (nth: number) => T | Promise<T>): Promise<T> {
    return this.#around(name, (nth) => this.#serve(() => work(nth)));
  }

  /** A call that changes nothing, so it has no points: a crash before or after it is a crash at the next point. */
  async read<T>(work: () => T | Promise<T>): Promise<T> {
    this.#countRead();
    await this.#untilRunnable();
    const value = await this.#serve(work);
    await this.#untilRunnable();
    return value;
  }

  /** A sleep of an outside system; without points, since the process itself calls nothing. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#time.clockOf(this).sleep(ms, signal);
  }

  /** A timer of its store. What waits for it does not work meanwhile. The returned function cancels it. */
  asleep(ms: number, fire: () => void): () => void {
    const cancelled = new AbortController();
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      this.#activity.inFlight += 1;
      this.#asleep -= 1;
      cancelled.abort();
    };
    this.#activity.inFlight -= 1;
    this.#asleep += 1;
    this.sleep(ms, cancelled.signal).then(
      () => {
        end();
        fire();
      },
      () => undefined,
    );
    return end;
  }

  /** Waits for every call in flight, so that none of a dead process takes effect later. One that sleeps never will. */
  async drain(): Promise<void> {
    while (this.#served.size > this.#asleep) await new Promise((resolve) => setImmediate(resolve));
  }

  async #around<T>(call: string, work: (nth: number) => Promise<T>): Promise<T> {
    const nth = (this.#calls.get(call) ?? 0) + 1;
    this.#calls.set(call, nth);
    await this.#reach({ phase: "before", call, nth });
    try {
      return await work(nth);
    } finally {
      await this.#reach({ phase: "after", call, nth });
    }
  }

  async #reach(point: Point): Promise<void> {
    const reachedAt = this.#time.now();
    await this.#untilRunnable();
    this.#reads.count = 0;
    this.reached.push(point);
    await this.#gate(this, point);
    await this.#untilRunnable();
    if (this.#time.now() !== reachedAt) this.pausedAt.push(point);
  }

  /** A loop that only reads would starve the real process, and so it would this one: no schedule could end it. */
  #countRead(): void {
    const at = this.#time.now();
    this.#reads = { count: at === this.#reads.at ? this.#reads.count + 1 : 1, at };
    if (this.#reads.count <= MOST_READS || this.#state === "dead") return;
    this.isStuck = true;
    this.die();
  }

  async #untilRunnable(): Promise<void> {
    while (this.#state === "paused") await this.#waking.promise;
    if (this.#state === "dead") await NEVER;
  }

  async #serve<T>(work: () => T | Promise<T>): Promise<T> {
    this.#activity.inFlight += 1;
    const served = (async () => work())();
    this.#served.add(served);
    try {
      return await served;
    } finally {
      this.#served.delete(served);
      this.#activity.inFlight -= 1;
    }
  }

  #withPoints(clock: Clock): Clock {
    const sleep = (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal);
    return { ...clock, sleep: (ms, signal) => this.#around("clock.sleep", () => sleep(ms, signal)) };
  }
}

/** More than any scenario needs between two points. */
const MOST_READS = 5_000;

const NEVER = new Promise<never>(() => undefined);
