/**
 * The named points at which a crash is interesting: right before and right after everything that touches the outside.
 * A test passes the runner a probe that kills the process at one of them. In production the probe does nothing.
 */
export const CRASH_POINTS = [
  "run:created",
  "step:begun",
  "turn:before-open",
  "turn:opened",
  "model:before-request",
  "model:noted",
  "model:answered",
  "turn:before-journal",
  "turn:journaled",
  "tool:before-start",
  "tool:started",
  "tool:before-execute",
  "tool:noted",
  "tool:executed",
  "tool:before-try-end",
  "tool:try-ended",
  "tool:before-reconcile",
  "tool:reconciled",
  "tool:before-receipt",
  "tool:receipt-stored",
  "turn:before-commit",
  "turn:committed",
  "exchange:before-end",
  "exchange:ended",
  "compaction:before-open",
  "compaction:opened",
  "compaction:before-commit",
  "compaction:committed",
  "lineage:before-begin",
  "lineage:begun",
  "loop:decided",
  "step:before-finish",
  "step:finished",
  "run:before-finish",
  "run:finished",
  "run:before-wait",
  "run:waiting",
] as const;

/** A place in the engine at which `crashAt` can stop a process. */
export type CrashPoint = (typeof CRASH_POINTS)[number];

/** The place in the run where the point was reached. `turnIndex` is 0 outside of turns. */
export type CrashPointSite = {
  readonly runId: string;
  readonly stepPath: string;
  readonly turnIndex: number;
};

/** Called at every point. An error that it throws is thrown at that point. */
export type CrashProbe = (point: CrashPoint, site: CrashPointSite) => void;

export const NO_PROBE: CrashProbe = () => undefined;
