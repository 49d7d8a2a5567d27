import { appendPart, type LivePart } from "../../core/turn/live-part.ts";
import type { LiveAttempt, LiveParts, LivePosition, LiveRow, LiveSink } from "../live-parts.ts";
import type { LiveBackend, NewLiveRow } from "./live-backend.ts";

/** So short that a text seems to be written without pauses. A row costs as much as many pieces. */
const FLUSH_EVERY_MS = 50;
const FLUSH_AT_BYTES = 4 * 1024;
/** What an attempt may have waiting while nothing can be written. */
const MOST_BYTES = 256 * 1024;
/** How long nothing is tried after an error. */
const OFF_MS = 30_000;
const SWEEP_EVERY_MS = 60_000;
const KEPT_MS = 3_600_000;
/** A viewer says several times in this time that it is there. */
const WATCHED_MS = 30_000;

/** The timers of a buffer, which simulated machines replace. Each returned function cancels its timer. */
export type LiveTimers = {
  readonly monotonic: () => number;
  /** Calls back once the work under way has had its turn. */
  readonly soon: (callback: () => void) => () => void;
  readonly after: (ms: number, callback: () => void) => () => void;
};

/** Those of Node. They keep no process alive: what they would write is of no use without a run in progress. */
const NODE_TIMERS: LiveTimers = {
  monotonic: () => performance.now(),
  soon: (callback) => {
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  },
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Collects the pieces of all answers of a process, and writes them in batches: the first piece of an answer at once, the
 * others a few times a second. The same for every database. Nothing here can stop or delay a run.
 */
export class LiveBuffer implements LiveParts {
  readonly #backend: LiveBackend;
  readonly #timers: LiveTimers;
  readonly #waiting = new Set<BufferedSink>();
  #cancelLater: (() => void) | null = null;
  #cancelSoon: (() => void) | null = null;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #isWriting = false;
  #isClosed = false;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #off: { readonly until: number; readonly reason: string } | null = null;

  constructor(backend: LiveBackend, timers: LiveTimers = NODE_TIMERS) {
    this.#backend = backend;
    this.#timers = timers;
  }

  begin(attempt: LiveAttempt, onTrouble: (reason: string) => void): LiveSink {
    return new BufferedSink(attempt, onTrouble, {
      offer: (sink) => this.#offer(sink),
      leave: (sink) => this.#waiting.delete(sink),
    });
  }

  read(runs: readonly LivePosition[]): Promise<readonly LiveRow[]> {
    if (this.#isClosed || runs.length === 0) return Promise.resolve([]);
    return this.#backend.read(runs).catch(() => []);
  }

  version(): number | null {
    return this.#isClosed ? 0 : this.#backend.version();
  }

  announce(runId: string): void {
    if (!this.#isClosed) this.#backend.announce(runId, WATCHED_MS).catch(() => undefined);
  }

  isWatched(runId: string): Promise<boolean> {
    return this.#isClosed ? Promise.resolve(false) : this.#backend.isWatched(runId).catch(() => false);
  }

  forget(runId: string): void {
    if (!this.#isClosed) this.#backend.forget(runId).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#dropTimer();
    this.#cancelSoon?.();
    this.#waiting.clear();
    await this.#backend.close();
  }

  /** A sink has something to write. */
  #offer(sink: BufferedSink): void {
    const now = this.#timers.monotonic();
    const reason = this.#reasonToStop(sink, now);
    if (reason !== null) {
      sink.stop(reason);
      return;
    }
    this.#waiting.add(sink);
    if (this.#isWriting) return;
    // A piece that comes when a batch is due takes it along: to be woken by a timer costs more than to write the batch.
    const isDue = now - this.#flushedAt >= FLUSH_EVERY_MS;
    if (isDue || sink.isFirst || sink.bytes >= FLUSH_AT_BYTES) this.#flushSoon();
    else this.#flushLater();
  }

  #reasonToStop({ bytes }: BufferedSink, now: number): string | null {
    if (this.#isClosed) return "the store is closed";
    if (this.#off !== null && now < this.#off.until) return this.#off.reason;
    return bytes > MOST_BYTES ? "its pieces came faster than they could be written" : null;
  }

  #flushSoon(): void {
    this.#cancelSoon ??= this.#timers.soon(() => {
      this.#cancelSoon = null;
      void this.#flush();
    });
  }

  #flushLater(): void {
    this.#cancelLater ??= this.#timers.after(FLUSH_EVERY_MS, () => {
      this.#cancelLater = null;
      void this.#flush();
    });
  }

  #dropTimer(): void {
    this.#cancelLater?.();
    this.#cancelLater = null;
  }

  async #flush(): Promise<void> {
    if (this.#isWriting || this.#waiting.size === 0) return;
    this.#isWriting = true;
    this.#flushedAt = this.#timers.monotonic();
    this.#dropTimer();
    let isBusy = false;
    const taken = [...this.#waiting];
    this.#waiting.clear();
    const rows = taken.map((sink) => sink.take());
    try {
      const isDue = this.#flushedAt - this.#sweptAt >= SWEEP_EVERY_MS;
      const outcome = await this.#backend.write({ rows, sweepOlderThanMs: isDue ? KEPT_MS : null });
      if (outcome === "written" && isDue) this.#sweptAt = this.#timers.monotonic();
      isBusy = outcome === "busy";
      if (isBusy) for (const [i, sink] of taken.entries()) this.#putBack(sink, rows[i]);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#off = { until: this.#timers.monotonic() + OFF_MS, reason };
      for (const sink of taken) sink.stop(reason);
    } finally {
      this.#isWriting = false;
      this.#continue(isBusy);
    }
  }

  /** What came during a write is next: another first piece at once, unless others are writing. */
  #continue(isBusy: boolean): void {
    if (this.#isClosed || this.#waiting.size === 0) return;
    if (!isBusy && [...this.#waiting].some(({ isFirst }) => isFirst)) this.#flushSoon();
    else this.#flushLater();
  }

  #putBack(sink: BufferedSink, row: NewLiveRow | undefined): void {
    if (row === undefined || !sink.putBack(row)) return;
    this.#waiting.add(sink);
  }
}

/** What a sink says to its buffer: that it has something to write, or that it has nothing any more. */
type SinkPlace = {
  readonly offer: (sink: BufferedSink) => void;
  readonly leave: (sink: BufferedSink) => void;
};

/** The pieces of one answer that are not written yet. */
class BufferedSink implements LiveSink {
  readonly #attempt: LiveAttempt;
  readonly #onTrouble: (reason: string) => void;
  readonly #place: SinkPlace;
  #parts: LivePart[] = [];
  #rows = 0;
  #isOver = false;
  bytes = 0;

  constructor(attempt: LiveAttempt, onTrouble: (reason: string) => void, place: SinkPlace) {
    this.#attempt = attempt;
    this.#onTrouble = onTrouble;
    this.#place = place;
  }

  /** True until its first row is taken. */
  get isFirst(): boolean {
    return this.#rows === 0;
  }

  part(part: LivePart): void {
    if (this.#isOver) return;
    appendPart(this.#parts, part);
    this.bytes += part.delta.length;
    this.#place.offer(this);
  }

  end(): void {
    this.#isOver = true;
    this.#parts = [];
    this.#place.leave(this);
  }

  stop(reason: string): void {
    if (this.#isOver) return;
    this.end();
    try {
      this.#onTrouble(reason);
    } catch {
      // The listener's own error.
    }
  }

  take(): NewLiveRow {
    const row = { ...this.#attempt, index: this.#rows, parts: this.#parts };
    this.#rows += 1;
    this.#parts = [];
    this.bytes = 0;
    return row;
  }

  /** The row was not written. False if nobody wants it any more. */
  putBack({ parts }: NewLiveRow): boolean {
    if (this.#isOver) return false;
    this.#rows -= 1;
    const since = this.#parts;
    this.#parts = [...parts];
    for (const part of since) appendPart(this.#parts, part);
    this.bytes = this.#parts.reduce((sum, { delta }) => sum + delta.length, 0);
    return true;
  }
}
