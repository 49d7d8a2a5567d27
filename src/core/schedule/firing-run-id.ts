import { ConfigurationError } from "../errors.ts";
import { assertRunId } from "../step-path.ts";
import { assertScheduleName } from "./schedule-spec.ts";

const MINUTE_MS = 60_000;

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
