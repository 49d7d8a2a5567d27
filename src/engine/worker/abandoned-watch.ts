import type { Clock } from "../ports/clock.ts";
import type { FoundRun } from "./found-runs.ts";

/**
 * Looks for runs that a worker left without releasing them, beside the worker's other looks: it asks whether the processes
 * of others live, which may take a second, and runs that are ready need not wait for that.
 */
export class AbandonedWatch {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #look: () => Promise<readonly FoundRun[]>;
  readonly #onFound: () => void;
  readonly #onError: (error: unknown) => void;
  readonly #stop = new AbortController();
  #found: FoundRun[] = [];
  #ended: Promise<void> = Promise.resolve();

  constructor(
    clock: Clock,
    everyMs: number,
    look: () => Promise<readonly FoundRun[]>,
    { onFound, onError }: { readonly onFound: () => void; readonly onError: (error: unknown) => void },
  ) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#look = look;
    this.#onFound = onFound;
    this.#onError = onError;
  }

  start(): void {
    this.#ended = this.#watch();
  }

  /** The next run that the last look has found; a claim decides whether it still belongs to nobody. */
  next(): FoundRun | null {
    return this.#found.shift() ?? null;
  }

  /** Resolves once nothing asks the store any more. */
  stop(): Promise<void> {
    this.#stop.abort();
    return this.#ended;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        this.#found = [...(await this.#look())];
        if (this.#found.length > 0) this.#onFound();
      } catch (error) {
        if (!signal.aborted) this.#onError(error);
      }
      await this.#clock.sleep(this.#everyMs, signal).catch(() => undefined);
    }
  }
}
