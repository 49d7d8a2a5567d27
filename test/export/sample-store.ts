// Stores for tests of readers: a clock that advances a little with every intent, so that the same test makes the same
// run, and a reader that counts its calls.

import type { Store, StoreReader } from "../../src/index.ts";
import { memoryStore } from "../engine/run-fixture.ts";

/** The time at which every such run begins. */
export const START = Date.UTC(2026, 10, 16, 6, 0, 0);

/** A store whose clock advances by 100 ms with every intent. `at` may set it. */
export async function tickingStore(): Promise<{ store: Store; clock: { at: number } }> {
  const clock = { at: START };
  const store = await memoryStore({
    now: () => {
      clock.at += 100;
      return clock.at;
    },
  });
  clock.at = START; // Opening the store takes intents of its own.
  return { store, clock };
}

/** A reader that counts how often each of its methods is called. */
export function countingReader(store: StoreReader): { reader: StoreReader; counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const reader = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function" || typeof name !== "string") return value;
      return (...args: unknown[]): unknown => {
        counts.set(name, (counts.get(name) ?? 0) + 1);
        return value.apply(target, args) as unknown;
      };
    },
  });
  return { reader, counts };
}
