import { StoreUnavailableError } from "../core/errors.ts";
import type { Fence } from "./store-intents.ts";

/** A request or a call that has left, or is about to. */
export interface EffectInProgress {
  /** It was not sent after all: nothing is known of it any more. */
  withdraw(): void;
  /** It has ended, whatever became of it: nothing of it can happen any more. */
  end(): void;
}

/** A worker's time with a run, as its store sees it. */
export interface Attendance {
  /** Aborts when the store is being closed: no further effect begins, and what is under way is awaited. */
  readonly closing: AbortSignal;
  /** The worker has stopped, whether or not it could release the run. */
  leave(): void;
}

/**
 * What the workers of one store are doing, in memory: who attends which run, and which effects are under way. It tells a
 * store that is being closed what to wait for, and whether a lease of its own may be taken again.
 */
export class WorkInProgress {
  readonly #closing = new AbortController();
  /** The epochs under which runs are attended, or were. */
  readonly #attended = new Map<string, { epoch: number; isLeft: boolean }>();
  readonly #effects = new Map<string, Set<object>>();
  readonly #waiting = new Set<() => void>();
  #attending = 0;

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  attend({ runId, epoch }: Fence): Attendance {
    const attended = { epoch, isLeft: false };
    this.#attended.set(runId, attended);
    this.#attending += 1;
    return {
      closing: this.closing,
      leave: () => {
        if (attended.isLeft) return;
        attended.isLeft = true;
        this.#attending -= 1;
        this.#wake();
      },
    };
  }

  begin({ runId }: Fence): { readonly end: () => void } {
    this.closing.throwIfAborted();
    const effect = {};
    const effects = this.#effects.get(runId) ?? new Set();
    this.#effects.set(runId, effects.add(effect));
    return {
      end: () => {
        if (!effects.delete(effect)) return;
        if (effects.size === 0 && this.#effects.get(runId) === effects) this.#effects.delete(runId);
        this.#wake();
      },
    };
  }

  /** What this store's own worker does with a run that the store holds under this epoch. */
  stateOf(runId: string, epoch: number): "none" | "attending" | "left" | "effects_in_progress" {
    if (this.#effects.has(runId)) return "effects_in_progress";
    const attended = this.#attended.get(runId);
    if (attended?.epoch !== epoch) return "none";
    return attended.isLeft ? "left" : "attending";
  }

  hasEffects(runId: string): boolean {
    return this.#effects.has(runId);
  }

  /** No further effect begins. */
  beginClosing(file: string): void {
    if (!this.#closing.signal.aborted) this.#closing.abort(closingError(file));
  }

  get isIdle(): boolean {
    return this.#attending === 0 && this.#effects.size === 0;
  }

  /** The run was released: who attended it is of no interest any more. */
  forget(runId: string): void {
    this.#attended.delete(runId);
  }

  /** Resolves once nobody attends a run and no effect is under way; or when `giveUp`, given a callback, calls it. */
  async idle(giveUp: (callback: () => void) => () => void = () => () => undefined): Promise<void> {
    if (this.isIdle) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (this.isIdle) resolve();
    };
    this.#waiting.add(look);
    const cancel = giveUp(resolve);
    await promise;
    cancel();
    this.#waiting.delete(look);
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }
}

function closingError(file: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `The store ${file} is being closed: the run was left where it is; run or resume it again to continue.`,
    { reason: "closed" },
  );
}
