import type { CrashPoint } from "../../src/testing/index.ts";

/** Points that only a call passes that waits, fails, is looked up, or needs a person: see every-ledger-point.test.ts. */
export const LEDGER_POINTS = [
  "tool:before-start",
  "tool:started",
  "tool:before-try-end",
  "tool:try-ended",
  "tool:before-reconcile",
  "tool:reconciled",
  "run:before-wait",
  "run:waiting",
] as const satisfies CrashPoint[];
