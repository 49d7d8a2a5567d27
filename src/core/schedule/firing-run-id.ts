import { ConfigurationError } from "../errors.ts";
import { assertRunId } from "../step-path.ts";
import { assertScheduleName } from "./schedule-spec.ts";

export const MINUTE_MS = 60_000;

/**
 * The id of the run that a schedule starts for a planned time. It holds that time, so two workers that fire the same one
 * create the same run, and only one of them succeeds.
 *
 * @example
 * firingRunId("nightly", Date.UTC(2026, 10, 17, 1)); // "nightly@2026-11-17T01:00Z"
 */
export function firingRunId(name: string, plannedAt: number): string {
  assertScheduleName(name);
  if (!Number.isSafeInteger(plannedAt / MINUTE_MS))
    throw new ConfigurationError(
      `${plannedAt} is no planned time of schedule ${name}: give a whole minute, in milliseconds since 1970.`,
    );
  const runId = `${name}@${new Date(plannedAt).toISOString().slice(0, -":00.000Z".length)}Z`;
  assertRunId(runId);
  return runId;
}

/** Between these, the first one included, are the ids of all runs that the schedule has started. */
export function firingRunIds(name: string): { readonly from: string; readonly before: string } {
  // "A" is the character after "@".
  return { from: `${name}@`, before: `${name}A` };
}

/** True for an id that a firing of the schedule has, and not just any run that somebody has named like one. */
export function isFiringOf(name: string, runId: string): boolean {
  return runId.startsWith(`${name}@`) && /^\d{4,6}-\d\d-\d\dT\d\d:\d\dZ$/.test(runId.slice(name.length + 1));
}

const KEY = "schedule:";

/** The concurrency key of the runs of a schedule that run one after the other. */
export function scheduleKey(name: string): string {
  return `${KEY}${name}`;
}

/** The schedule whose key this is; null if it is another key. */
export function scheduleOfKey(key: string | null): string | null {
  return key?.startsWith(KEY) === true ? key.slice(KEY.length) : null;
}
