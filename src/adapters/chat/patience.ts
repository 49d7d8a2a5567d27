const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** How often and how long a connection is tried again. What the server says begins it again. */
export class Patience {
  readonly #giveUpAfterMs: number;
  #tries = 0;
  #since = Date.now();

  constructor(giveUpAfterMs: number) {
    this.#giveUpAfterMs = giveUpAfterMs;
  }

  /** Something new has come. */
  renew(): void {
    this.#tries = 0;
    this.#since = Date.now();
  }

  /** True if nothing new has come for so long that it is no longer tried. */
  get isOver(): boolean {
    return Date.now() - this.#since > this.#giveUpAfterMs;
  }

  /** Waits before the next try: not at all before the first. Rejects if the signal aborts. */
  async pause(signal: AbortSignal): Promise<void> {
    const ms = this.#tries === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (this.#tries - 1), LONGEST_PAUSE_MS);
    this.#tries += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const stop = () => resolve();
    signal.addEventListener("abort", stop, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
  }
}
