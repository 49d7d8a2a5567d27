import { StoreUnavailableError } from "../core/errors.ts";
import type { Fence } from "./store-intents.ts";

/** A request or a call that was sent, or is about to be. */
export interface EffectInProgress {
  /** It was not sent after all, and its mark is removed. */
  withdraw(): void;
  /** It has ended, whatever its outcome: nothing more can happen from it. */
  end(): void;
}

/** A worker's registration for a run, from `Store.attend`. */
export interface Attendance {
  /** Aborts when the store starts closing: no further effect may begin, and those in progress are awaited. */
  readonly closing: AbortSignal;
  /** The worker has stopped, whether or not it released the run. */
  leave(): void;
}

/**
 * The work in progress of one store, in memory: which runs have a worker, and which effects are in progress.
 * A store that is closing waits for it, and it decides whether the store may claim a run again that it holds
 * itself.
 */
export class WorkInProgress {
  readonly #closing = new AbortController();
  /** The epochs under which runs have, or had, a worker here. */
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

  /** The state of this store's own worker for a run that the store holds under this epoch. */
  stateOf(runId: string, epoch: number): "none" | "attending" | "left" | "effects_in_progress" {
    if (this.#effects.has(runId)) return "effects_in_progress";
    const attended = this.#attended.get(runId);
    if (attended?.epoch !== epoch) return "none";
    return attended.isLeft ? "left" : "attending";
  }

  hasEffects(runId: string): boolean {
    return this.#effects.has(runId);
  }

  /** Refuses every further effect. */
  beginClosing(file: string): void {
    if (!this.#closing.signal.aborted) this.#closing.abort(closingError(file));
  }

  get isIdle(): boolean {
    return this.#attending === 0 && this.#effects.size === 0;
  }

  /** The run was released: its registration is no longer needed. */
  forget(runId: string): void {
    this.#attended.delete(runId);
  }

  /**
   * Resolves once no worker is registered and no effect is in progress, or when `giveUp` calls the callback
   * it was passed.
   */
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
