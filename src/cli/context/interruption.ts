import type { CliContext } from "./cli-context.ts";

/** Reactions to Ctrl-C and SIGTERM. */
export type InterruptReaction = {
  /** First signal: the run is asked to stop at the next safe point. */
  readonly onFirst: () => void;
  /** Second signal: clean up the screen; the process exits right after. */
  readonly onSecond: () => void;
};

const INTERRUPTED = 130;

/** Under npm one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
export const SAME_PRESS_MS = 250;

/**
 * Listens for Ctrl-C and SIGTERM during a run. The first signal lets work in progress finish; the second exits the process
 * immediately, which is safe: uncommitted work is recovered when the run is resumed.
 */
export class Interruption {
  readonly #release = new AbortController();
  readonly #stop: () => void;

  constructor(context: CliContext, { onFirst, onSecond }: InterruptReaction) {
    let firstAt = 0;
    this.#stop = context.onInterrupt(() => {
      const now = context.clock.monotonic();
      if (!this.happened) {
        firstAt = now;
        this.#release.abort(new Error("The command was interrupted."));
        onFirst();
        return;
      }
      if (now - firstAt < SAME_PRESS_MS) return;
      onSecond();
      context.quit(INTERRUPTED);
    });
  }

  get release(): AbortSignal {
    return this.#release.signal;
  }

  get happened(): boolean {
    return this.#release.signal.aborted;
  }

  /** Stops listening; the signals have their default effect again. */
  stop(): void {
    this.#stop();
  }
}
