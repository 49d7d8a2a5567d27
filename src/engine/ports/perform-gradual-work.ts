import { setImmediate } from "node:timers/promises";
import type { GradualWork } from "../../core/gradual-work.ts";

/** Does the work, and lets the process do other things at every pause. Work without a pause is done synchronously. */
export function performGradualWork<T>(work: GradualWork<T>): T | Promise<T> {
  const first = work.next();
  return first.done === true ? first.value : theRest(work);
}

async function theRest<T>(work: GradualWork<T>): Promise<T> {
  for (;;) {
    await setImmediate();
    const next = work.next();
    if (next.done === true) return next.value;
  }
}
