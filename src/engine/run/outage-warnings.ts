import type { RunEventListener } from "../ports/run-events.ts";

/** Warns once at the start of every outage, so that a run that waits for its provider does not look like one that hangs. */
export function outageWarnings(warn: (message: string) => void): RunEventListener {
  let warnedSince: number | null = null;
  return (event) => {
    if (event.type !== "model.failed" || event.outageSince === null || event.retryInMs === null) return;
    if (event.outageSince === warnedSince) return;
    warnedSince = event.outageSince;
    warn(
      `Run ${event.runId} waits for its model: ${event.message} It asks again until its deadline, or until it is cancelled. Limit the wait with maxOutageMs of the Runner.`,
    );
  };
}
