import type { Clock } from "../../../engine/ports/clock.ts";
import type { WatchEvent } from "../../../engine/watch/watch-event.ts";
import { watchEvents } from "../../../engine/watch/watch-run.ts";
import type { StoreReader } from "../../../store/store.ts";
import type { ViewerConduct } from "./viewer-conduct.ts";

/** What a viewer saw from the time it joined until it left, died or the run had ended. */
export type ViewingSession = {
  /** The cursor that it came back with; null from the beginning. */
  readonly after: string | null;
  readonly events: readonly WatchEvent[];
  /** How it ended: the run had ended, the viewer left, its process died, or it got this error. */
  readonly end: "ended" | "left" | "died" | { readonly error: string };
};

/** All that one viewer saw, whenever it was there. */
export type ViewerRecord = {
  readonly number: number;
  readonly joins: string;
  readonly sessions: readonly ViewingSession[];
};

/** The process of a viewer, with a store of its own. */
interface ViewerProcess {
  readonly store: StoreReader;
  readonly clock: Clock;
  readonly isPaused: () => boolean;
  pause(): void;
  wake(): void;
  die(): void;
  /** Removes what is left of it. */
  end(): Promise<void>;
}

/** What a viewer needs of its world. */
export type ViewerHost = {
  readonly runId: string;
  readonly startViewer: () => Promise<ViewerProcess>;
  readonly untilQuiet: () => Promise<unknown>;
};

/** What the run is like at a step. */
export type ViewedMoment = {
  readonly step: number;
  /** How many processes have been started to work on it. */
  readonly workers: number;
};

type OpenSession = {
  readonly process: ViewerProcess;
  readonly seen: { readonly after: string | null; readonly events: WatchEvent[]; end: ViewingSession["end"] };
  readonly over: AbortController;
  /** What it does at its next look; null while a look is under way. */
  nextLook: (() => void) | null;
  isOver: boolean;
};

/** The most looks that a viewer may need until it has seen everything. */
const MOST_LOOKS = 200;
const IDLE_LOOKS = 3;

/**
 * A viewer in a process of its own, with its own connections. It takes part in no schedule: it looks only when it is given a
 * step, so that time neither waits for it nor depends on it.
 */
export class SimulatedViewer {
  readonly #conduct: ViewerConduct;
  readonly #host: ViewerHost;
  readonly #sessions: OpenSession["seen"][] = [];
  #session: OpenSession | null = null;
  /** The steps until it comes back or wakes. */
  #absent = 0;
  #eventsLeft: number;

  constructor(conduct: ViewerConduct, host: ViewerHost) {
    this.#conduct = conduct;
    this.#host = host;
    this.#eventsLeft = conduct.dies?.afterEvents ?? Number.POSITIVE_INFINITY;
  }

  get record(): ViewerRecord {
    const { number, joins } = this.#conduct;
    return {
      number,
      joins: typeof joins === "string" ? joins : `step ${joins.step}`,
      sessions: this.#sessions,
    };
  }

  /** The run has got further. */
  async step(moment: ViewedMoment): Promise<void> {
    const { random, attention, stalls } = this.#conduct;
    if (this.#session?.isOver === true) await this.#leave();
    if (this.#absent > 0 && --this.#absent > 0) return;
    const session = this.#session;
    if (session === null) {
      if (this.#sessions.length === 0 ? isTime(this.#conduct, moment) : this.#hasDied) await this.#join();
      return;
    }
    if (session.process.isPaused()) session.process.wake();
    else if (random() < attention) {
      this.#look(session);
      // It has read the pieces, and reads the log when it wakes.
      if (stalls && random() < 0.3) this.#stall(session);
    }
  }

  /** The work is done: sees the rest, and leaves. */
  async finish(): Promise<void> {
    this.#absent = 0;
    this.#eventsLeft = Number.POSITIVE_INFINITY;
    if (this.#session?.isOver === true) await this.#leave();
    // A run that had failed may have been resumed since: then there is more behind its end.
    for (let sessions = 0; sessions < MOST_LOOKS; sessions++) {
      if (this.#session === null) await this.#join();
      const hadEvents = await this.#seeAll();
      if (!hadEvents && this.#sessions.at(-1)?.end !== "died") return;
    }
    throw new Error(`Viewer ${this.#conduct.number} never sees the end of the run.`);
  }

  get #hasDied(): boolean {
    return this.#sessions.at(-1)?.end === "died";
  }

  /** Looks until there is nothing new, and leaves. False if it saw nothing. */
  async #seeAll(): Promise<boolean> {
    const session = this.#session;
    if (session === null) return false;
    const before = session.seen.events.length;
    session.process.wake();
    for (let idle = 0, looks = 0; idle < IDLE_LOOKS && looks < MOST_LOOKS && !session.isOver; looks++) {
      const known = session.seen.events.length;
      await this.#host.untilQuiet();
      this.#look(session);
      await this.#host.untilQuiet();
      idle = session.seen.events.length > known ? 0 : idle + 1;
    }
    await this.#leave();
    return session.seen.events.length > before;
  }

  async #join(): Promise<void> {
    const process = await this.#host.startViewer();
    const after = this.#cursor();
    const seen = { after, events: [], end: "left" as const };
    const session: OpenSession = {
      process,
      seen,
      over: new AbortController(),
      nextLook: null,
      isOver: false,
    };
    this.#sessions.push(seen);
    this.#session = session;
    void this.#watch(session);
  }

  async #watch(session: OpenSession): Promise<void> {
    const { process, seen, over } = session;
    const { store, clock } = process;
    const options = seen.after === null ? {} : { after: seen.after };
    const stepped = { ...clock, ...this.#timersOf(session) };
    const { runId } = this.#host;
    try {
      for await (const event of watchEvents({ store, runId }, options, stepped, over.signal)) {
        seen.events.push(event);
        if (--this.#eventsLeft > 0) continue;
        seen.end = "died";
        session.isOver = true;
        process.die();
        await NEVER;
      }
      seen.end = over.signal.aborted ? "left" : "ended";
    } catch (error) {
      seen.end = { error: error instanceof Error ? error.message : String(error) };
    }
    session.isOver = true;
  }

  /** It looks again at a step, whatever the time is then. */
  #timersOf(session: OpenSession): Pick<Clock, "after"> {
    return {
      after: (_, look) => {
        session.nextLook = look;
        return () => {
          if (session.nextLook === look) session.nextLook = null;
        };
      },
    };
  }

  #look(session: OpenSession): void {
    const { nextLook: look } = session;
    session.nextLook = null;
    look?.();
  }

  #stall(session: OpenSession): void {
    session.process.pause();
    this.#absent = 1 + Math.floor(this.#conduct.random() * 6);
  }

  async #leave(): Promise<void> {
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    session.over.abort();
    if (session.seen.end === "died") {
      this.#absent = 1 + Math.floor(this.#conduct.random() * 4);
      // It dies once.
      this.#eventsLeft = Number.POSITIVE_INFINITY;
    }
    await session.process.end();
  }

  /** The last one that it remembers. */
  #cursor(): string | null {
    if (this.#hasDied && this.#conduct.dies?.returnsFrom === "beginning") return null;
    const events = this.#sessions.flatMap((session) => session.events);
    return events.findLast((event) => "cursor" in event)?.cursor ?? null;
  }
}

function isTime({ joins }: ViewerConduct, { step, workers }: ViewedMoment): boolean {
  switch (joins) {
    case "at once":
      return true;
    case "second process":
      return workers > 1;
    case "after the end":
      return false;
    default:
      return step >= joins.step;
  }
}

const NEVER = new Promise<never>(() => undefined);
