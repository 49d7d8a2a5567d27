import { setImmediate } from "node:timers/promises";
import type { GradualWork } from "../../core/gradual-work.ts";

/** Performs the work and yields to the event loop at every pause. Work without a pause is done synchronously. */
export function performGradualWork<T>(work: GradualWork<T>): T | Promise<T> {
  const first = work.next();
  return first.done === true ? first.value : performRest(work);
}

async function performRest<T>(work: GradualWork<T>): Promise<T> {
  for (;;) {
    await setImmediate();
    const next = work.next();
    if (next.done === true) return next.value;
  }
}
