import { OPERATIONS } from "../../../../src/server/api/operations.ts";
import { callPath, runPath, waitPath } from "../../browser/places.ts";

/** Operations that name runs in their query or body. */
const ABOUT_RUNS: ReadonlySet<string> = new Set([
  "bulk",
  "bulk.dryRun",
  "startRun",
  "compareRuns",
  "exportRuns",
  "stream",
  "listWaits",
]);

/** Where the target of an act can be looked at; null where it has no page. */
export function targetPath(act: string, target: string): string | null {
  const path = Object.entries(OPERATIONS).find(([id]) => id === act)?.[1].path ?? "";
  // Run ids have no slash: what comes after one is an artifact of the run, or the rest of a call's id.
  const [runId = ""] = target.split("/");
  if (path.includes("{waitId}")) return waitPath(target);
  if (path.includes("{callId}")) return callPath(runId, target);
  if (path.includes("{runId}") || ABOUT_RUNS.has(act)) return runPath(runId);
  if (path.startsWith("/v1/schedules/"))
    return `/schedules?${new URLSearchParams({ at: target }).toString()}`;
  return path.startsWith("/v1/tokens") ? "/access?all=1" : null;
}

/** `200`, or `409 already_settled`: whether it was refused. */
export function isRefused(outcome: string): boolean {
  return !/^[123]\d\d\b/.test(outcome) && outcome !== "ok";
}
