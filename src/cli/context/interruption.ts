import type { CliContext } from "./cli-context.ts";

/** What is said and done when a person, or the system, wants the command to end. */
export type InterruptReaction = {
  /** The first time: the run is asked to let go. */
  readonly onFirst: () => void;
  /** The second time: whatever is shown is put away; the process ends after it. */
  readonly onSecond: () => void;
};

const INTERRUPTED = 130;

/** One Ctrl-C comes twice where the command was started by npm: from the terminal, and passed on. */
const SAME_PRESS_MS = 250;

/**
 * Listens for Ctrl-C and SIGTERM while a run works. The first one asks it to finish what is under way; the second one ends
 * the process at once, which is safe: what is not committed is found again by whoever goes on with the run.
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

  /** From here on the signals do what they did before. */
  stop(): void {
    this.#stop();
  }
}
