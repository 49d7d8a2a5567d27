import type { Clock } from "../../engine/ports/clock.ts";
import type { AuditEntry, Store } from "../../store/store.ts";

/** Reads are written together, this long after the first of them. */
const BATCH_MS = 1_000;
const MOST_IN_BATCH = 500;
/** The same read of the same person is one row in this time. */
const ONE_READING_MS = 10 * 60_000;
const MOST_REMEMBERED = 10_000;

/**
 * Records what people do and read through the server. A read does not wait for its row, and a lost one (the process was
 * killed) is a reading that is not on record; an act is not acknowledged before its row is durable.
 */
export class AuditTrail {
  readonly #store: Pick<Store, "recordAudit">;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #readings = new Map<string, number>();
  #waiting: AuditEntry[] = [];
  #cancel: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, "recordAudit">, clock: Clock, onError: (error: unknown) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Resolves once the rows are durable. */
  async act(entries: readonly AuditEntry[]): Promise<void> {
    await this.#store.recordAudit(entries);
  }

  /** Returns at once. */
  read(entries: readonly AuditEntry[]): void {
    const fresh = entries.filter((entry) => this.#isNewReading(entry));
    if (fresh.length === 0) return;
    this.#waiting.push(...fresh);
    if (this.#waiting.length >= MOST_IN_BATCH) this.#write();
    this.#cancel ??= this.#clock.after(BATCH_MS, () => this.#write());
  }

  /** Writes what still waits. */
  async close(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #isNewReading({ who, act, target, status }: AuditEntry): boolean {
    const key = JSON.stringify([who, act, target, status]);
    const now = this.#clock.monotonic();
    const last = this.#readings.get(key);
    if (last !== undefined && now - last < ONE_READING_MS) return false;
    if (this.#readings.size >= MOST_REMEMBERED) this.#readings.clear();
    this.#readings.set(key, now);
    return true;
  }

  #write(): void {
    this.#cancel?.();
    this.#cancel = null;
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    this.#writing = this.#writing.then(() => this.#store.recordAudit(batch)).catch(this.#onError);
  }
}
