import type { Json } from "../core/json.ts";
import { callHarmlessly } from "./harmless-call.ts";
import { type SessionState, valuesOf } from "./slice-set.ts";

export type SliceObserver = (values: readonly Json[], before: readonly Json[]) => void;

/** The observers of slices. */
export class SliceObservers {
  readonly #observers = new Map<string, Set<{ readonly notify: SliceObserver }>>();

  add(slice: string, notify: SliceObserver): () => void {
    const observers = this.#observers.get(slice) ?? new Set();
    this.#observers.set(slice, observers);
    // A new object, so that a function that observes twice is removed once at a time.
    const observer = { notify };
    observers.add(observer);
    return () => {
      observers.delete(observer);
    };
  }

  /** Notifies the observers of each slice that differs. One that throws does not affect the others. */
  notify(before: SessionState, after: SessionState, onFailure: (message: string) => void): void {
    for (const [slice, observers] of this.#observers) {
      const was = valuesOf(before, slice);
      const is = valuesOf(after, slice);
      if (was === is) continue;
      for (const observer of Array.from(observers)) {
        // Another observer may have removed this one meanwhile.
        if (!observers.has(observer)) continue;
        callHarmlessly(
          () => observer.notify(is, was),
          (why) => onFailure(`An observer of slice ${slice} failed: ${why}`),
        );
      }
    }
  }

  clear(): void {
    for (const observers of this.#observers.values()) observers.clear();
  }
}
