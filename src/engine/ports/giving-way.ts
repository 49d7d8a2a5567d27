import { setImmediate } from "node:timers/promises";
import type { Steps } from "../../core/gradual-work.ts";

/** Goes through steps, and lets the process do other things between them. Done at once where there is but one. */
export function givingWay<T>(steps: Steps<T>): T | Promise<T> {
  const first = steps.next();
  return first.done === true ? first.value : theRest(steps);
}

async function theRest<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    await setImmediate();
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
