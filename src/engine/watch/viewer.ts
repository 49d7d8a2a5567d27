import type { LiveRow } from "../../store/store.ts";
import type { WatchingViewer } from "./watch-hub.ts";

/** What a viewer that does not read may have waiting. Then pieces are dropped: the journal has them all. */
const MOST_WAITING_CHARS = 256 * 1024;
/** How long after the last change another one is expected soon. */
const ACTIVE_MS = 10_000;

/** What a viewer has been given and has not read yet. Of the log only a number: it reads the events when it gets there. */
export class Viewer implements WatchingViewer {
  readonly runId: string;
  /** Set by the reader, from the log. */
  isHeld = false;
  readonly #monotonic: () => number;
  #liveAfter: number | null;
  #rows: LiveRow[] = [];
  #chars = 0;
  #lastSeq: number | null = 0;
  #changedAt: number;
  #hasNews = false;
  #failure: { readonly error: unknown } | null = null;
  #wake: () => void = () => undefined;

  constructor(runId: string, wantsLive: boolean, monotonic: () => number) {
    this.runId = runId;
    this.#liveAfter = wantsLive ? 0 : null;
    this.#monotonic = monotonic;
    this.#changedAt = monotonic();
  }

  get liveAfter(): number | null {
    return this.#liveAfter;
  }

  get isActive(): boolean {
    return this.isHeld || this.#monotonic() - this.#changedAt < ACTIVE_MS;
  }

  /** The number of the run's last event, as far as it is known; null if the run is gone. */
  get lastSeq(): number | null {
    return this.#lastSeq;
  }

  deliver(rows: readonly LiveRow[], lastSeq: number | null): void {
    for (const row of rows) this.#add(row);
    if (rows.length === 0 && lastSeq === this.#lastSeq) return;
    this.#lastSeq = lastSeq;
    this.#changedAt = this.#monotonic();
    this.#news();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#news();
  }

  /** The live rows that came since it was last asked. Throws if the store failed. */
  take(): readonly LiveRow[] {
    if (this.#failure !== null) throw this.#failure.error;
    const rows = this.#rows;
    this.#rows = [];
    this.#chars = 0;
    this.#hasNews = false;
    return rows;
  }

  /** Resolves when there is something new, or the signal aborts. */
  async news(signal: AbortSignal): Promise<void> {
    if (this.#hasNews || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#wake = wake;
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    signal.removeEventListener("abort", wake);
  }

  /** A row that is dropped leaves a gap in the numbers of its attempt, by which the reader notices. */
  #add(row: LiveRow): void {
    this.#liveAfter = row.no;
    const chars = row.parts.reduce((sum, { delta }) => sum + delta.length, 0);
    if (this.#chars + chars > MOST_WAITING_CHARS) return;
    this.#chars += chars;
    this.#rows.push(row);
  }

  #news(): void {
    this.#hasNews = true;
    this.#wake();
  }
}
