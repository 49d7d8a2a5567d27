/** Work that can be paused at every `yield`; the code between two of them takes a few milliseconds at most. */
export type GradualWork<T> = Generator<void, T, void>;

/** Does all of the work at once, without a pause. */
export function runToEnd<T>(work: GradualWork<T>): T {
  for (;;) {
    const next = work.next();
    if (next.done === true) return next.value;
  }
}
