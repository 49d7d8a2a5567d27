import type { LiveRow, StoreReader } from "../../store/store.ts";
import type { Clock } from "../ports/clock.ts";

/** What a hub knows of a viewer, and gives it. */
export interface WatchingViewer {
  readonly runId: string;
  /** The number of the last live row that it was given; null if it wants none. */
  readonly liveAfter: number | null;
  /** True while something may happen soon. */
  readonly isActive: boolean;
  /** Live rows, in order, and after them the number of the run's last event; null if the run is gone. */
  deliver(rows: readonly LiveRow[], lastSeq: number | null): void;
  fail(error: unknown): void;
}

/** Where a look costs next to nothing, since the file says whether it has changed. */
const FILE_MS = { active: 20, idle: 100 };
/** Where each look is a query. */
const SERVER_MS = { active: 50, idle: 250 };
/** How often it says that a run is watched. */
const ANNOUNCE_EVERY_MS = 10_000;

/**
 * Looks at a store for all viewers of this process: their number does not change what that costs. Live rows are read first
 * and the log after them, because an attempt is opened in the log before its first piece is written: so a viewer that has
 * read the log up to the number it is given knows the attempt of every row.
 */
export class WatchHub {
  readonly #store: StoreReader;
  readonly #clock: Clock;
  readonly #viewers = new Set<WatchingViewer>();
  #cancelTimer: (() => void) | null = null;
  #isLooking = false;
  /** Set if a viewer has joined since the last look. */
  #mustLook = false;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #seen: readonly [live: number | null, commits: number | null] = [null, null];

  private constructor(store: StoreReader, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The one of this store. */
  static of(store: StoreReader, clock: Clock): WatchHub {
    const ofStore = hubs.get(store) ?? new WeakMap<Clock, WatchHub>();
    hubs.set(store, ofStore);
    const hub = ofStore.get(clock) ?? new WatchHub(store, clock);
    ofStore.set(clock, hub);
    return hub;
  }

  /** Returns a function that ends it. */
  join(viewer: WatchingViewer): () => void {
    this.#viewers.add(viewer);
    if (viewer.liveAfter !== null) this.#store.live?.announce(viewer.runId);
    this.#mustLook = true;
    void this.#look();
    return () => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size === 0) this.#stop();
    };
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#viewers.size === 0) return;
    this.#stop();
    this.#isLooking = true;
    try {
      this.#announce();
      if (this.#hasChanged()) await this.#read([...this.#viewers]);
    } catch (error) {
      for (const viewer of this.#viewers) viewer.fail(error);
    } finally {
      this.#isLooking = false;
      if (this.#viewers.size > 0) this.#lookLater();
    }
  }

  /** Workers stream the answers of runs that somebody watches. */
  #announce(): void {
    const now = this.#clock.monotonic();
    if (now - this.#announcedAt < ANNOUNCE_EVERY_MS) return;
    this.#announcedAt = now;
    for (const { runId } of positionsOf([...this.#viewers])) this.#store.live?.announce(runId);
  }

  /** True if there may be news. The counts are read before what they count: what comes later shows in the next ones. */
  #hasChanged(): boolean {
    const { live } = this.#store;
    const counts = [live === undefined ? 0 : live.version(), this.#store.commitsSeen()] as const;
    const isSame = counts.every((count, i) => count !== null && count === this.#seen[i]);
    this.#seen = counts;
    const mustLook = this.#mustLook;
    this.#mustLook = false;
    return mustLook || !isSame;
  }

  async #read(viewers: readonly WatchingViewer[]): Promise<void> {
    const rows = (await this.#store.live?.read(positionsOf(viewers))) ?? [];
    const lastSeqs = await this.#store.readProgress([...new Set(viewers.map(({ runId }) => runId))]);
    for (const viewer of viewers) {
      const { runId, liveAfter } = viewer;
      const own = rows.filter((row) => row.runId === runId && liveAfter !== null && row.no > liveAfter);
      viewer.deliver(own, lastSeqs.get(runId) ?? null);
    }
  }

  #lookLater(): void {
    const isOnFile = this.#seen[0] !== null;
    const { active, idle } = isOnFile ? FILE_MS : SERVER_MS;
    const isActive = this.#mustLook || [...this.#viewers].some((viewer) => viewer.isActive);
    const ms = this.#mustLook ? 0 : isActive ? active : idle;
    this.#cancelTimer = this.#clock.after(ms, () => {
      this.#cancelTimer = null;
      void this.#look();
    });
  }

  #stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}

const hubs = new WeakMap<StoreReader, WeakMap<Clock, WatchHub>>();

/** One position for each run that somebody wants the pieces of: that of the viewer who is furthest behind. */
function positionsOf(viewers: readonly WatchingViewer[]) {
  const positions = new Map<string, number>();
  for (const { runId, liveAfter } of viewers)
    if (liveAfter !== null)
      positions.set(runId, Math.min(liveAfter, positions.get(runId) ?? Number.POSITIVE_INFINITY));
  return [...positions].map(([runId, after]) => ({ runId, after }));
}
