import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import type { WatchOptions } from "./watch-event.ts";

const WATCH_NAMES = {
  after: true,
  live: true,
  follow: true,
  signal: true,
} satisfies OptionNames<WatchOptions>;
const WATCH_OTHER_NAMES = { cursor: "after", since: "after", abortSignal: "signal" };

export function assertWatchOptions(what: string, options: unknown): void {
  assertOptions(`The ${what}`, options, WATCH_NAMES, WATCH_OTHER_NAMES);
}

/**
 * A generator whose reader can leave at any time, also while it waits for the next event: then, and when `signal` aborts,
 * `over` does.
 */
export function leavable<T>(
  signal: AbortSignal | undefined,
  begin: (over: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const left = new AbortController();
  const events = begin(signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]));
  const generator: AsyncGenerator<T, void, undefined> = {
    next: () => events.next(),
    return: (value) => {
      left.abort();
      return events.return(value);
    },
    throw: (error) => {
      left.abort();
      return events.throw(error);
    },
    [Symbol.asyncIterator]: () => generator,
    [Symbol.asyncDispose]: async () => {
      await generator.return();
    },
  };
  return generator;
}
