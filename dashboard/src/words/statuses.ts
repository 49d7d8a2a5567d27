import type { RunStatus } from "../api/documents.ts";

/** All statuses that a run is shown with, in the order of its life. */
export const STATUSES = [
  "queued",
  "running",
  "interrupted",
  "waiting",
  "succeeded",
  "failed",
  "cancelled",
  "moved",
] as const satisfies readonly RunStatus[];
