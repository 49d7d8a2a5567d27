import type { RunEventListener } from "../ports/run-events.ts";

/** Warns once at the start of every outage, so that a run that waits for its provider does not look like one that hangs. */
export function outageWarnings(
  warn: (message: string) => void,
  maxOutageMs: number | undefined,
): RunEventListener {
  let warnedSince: number | null = null;
  return (event) => {
    if (event.type !== "model.failed" || event.outageSince === null || event.retryInMs === null) return;
    if (event.outageSince === warnedSince) return;
    warnedSince = event.outageSince;
    warn(
      `Run ${event.runId} waits for its model: ${event.message} ${howLong(event.outageSince, maxOutageMs)}`,
    );
  };
}

function howLong(since: number, maxOutageMs: number | undefined): string {
  if (maxOutageMs === undefined)
    return "It asks again until its deadline, or until it is cancelled. Limit the wait with maxOutageMs of the Runner.";
  const end = new Date(since + maxOutageMs).toISOString();
  return `It asks again until ${end} (maxOutageMs of the Runner is ${maxOutageMs}), its deadline, or until it is cancelled.`;
}
