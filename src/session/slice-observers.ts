import type { Json } from "../core/json.ts";
import { callHarmlessly } from "./harmless-call.ts";
import { type SessionState, valuesOf } from "./slice-set.ts";

export type SliceObserver = (values: readonly Json[], before: readonly Json[]) => void;

/** Who wants to know when a slice changes. */
export class SliceObservers {
  readonly #observers = new Map<string, Set<{ readonly tell: SliceObserver }>>();

  add(slice: string, tell: SliceObserver): () => void {
    const observers = this.#observers.get(slice) ?? new Set();
    this.#observers.set(slice, observers);
    // An object of its own, so that who observes twice ends one at a time.
    const observer = { tell };
    observers.add(observer);
    return () => {
      observers.delete(observer);
    };
  }

  /** Tells the observers of each slice that differs. One that throws keeps nobody else from being told. */
  tell(before: SessionState, after: SessionState, onFailure: (message: string) => void): void {
    for (const [slice, observers] of this.#observers) {
      const was = valuesOf(before, slice);
      const is = valuesOf(after, slice);
      if (was === is) continue;
      for (const observer of Array.from(observers)) {
        // One that another observer has ended meanwhile is not told.
        if (!observers.has(observer)) continue;
        callHarmlessly(
          () => observer.tell(is, was),
          (why) => onFailure(`An observer of slice ${slice} failed: ${why}`),
        );
      }
    }
  }

  clear(): void {
    for (const observers of this.#observers.values()) observers.clear();
  }
}
