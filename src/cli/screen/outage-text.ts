import type { RunOutage } from "../../account/run-outage.ts";
import { isInterrupted } from "../../account/run-status.ts";
import type { RunRecord } from "../../store/store.ts";
import { formatDuration, formatTime } from "./format.ts";

/** `unavailable since 2026-01-31 09:05:00 (3 min 05 s, HTTP 503); next request at …, in 12 s`. */
export function outageText(
  { since, retryAt, status, isAsking }: RunOutage,
  run: RunRecord,
  now: number,
): string {
  const how = status === null ? "no connection" : `HTTP ${status}`;
  if (run.status !== "running" || isInterrupted(run, now))
    return `unavailable from ${formatTime(since)} (${how}) until its worker stopped`;
  const what = `unavailable since ${formatTime(since)} (${formatDuration(now - since)}, ${how})`;
  if (isAsking || retryAt === null || retryAt <= now) return `${what}; it is asked again now`;
  return `${what}; next request at ${formatTime(retryAt)}, in ${formatDuration(retryAt - now)}`;
}
