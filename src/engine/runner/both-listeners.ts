import type { RunEventListener } from "../ports/run-events.ts";

/** Calls the runner's own listener first. The second one gets the event even if the first throws. */
export function bothListeners(
  first: RunEventListener | undefined,
  second: RunEventListener,
): RunEventListener {
  if (first === undefined) return second;
  return (event) => {
    try {
      first(event);
    } catch {
      // The listener's own error.
    }
    second(event);
  };
}
