/** Work that can be left off between its steps, each of which takes a few milliseconds at most. */
export type Steps<T> = Generator<void, T, void>;

/** All of it at once. */
export function finished<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
