import type { PreparedTool } from "../definition/prepared-tool.ts";
import type { RunHandle } from "../run/run-handle.ts";
import type { LastTry } from "./call-landing.ts";

/** How far a call is when somebody begins to bring it to its end. */
export type CallProgress = LastTry & {
  /** Whether the ledger says `running` for a try of ours that is still to be dispatched. */
  readonly isBegun: boolean;
  /** The try that was made last; 0 where there was none. */
  readonly attempt: number;
  /** The wall time at which its key went out first. */
  readonly sentAt: number | null;
  /** How many of its tries were certainly never sent: those are no retries. */
  readonly unsent: number;
  /** Whether a try before may have happened. */
  readonly mayHaveHappened: boolean;
  /** Monotonic; from before the ledger was told. */
  readonly begunAt: number;
  /** What the outside system calls the try that was made last. */
  readonly correlationId: string | null;
};

/** Of a call whose first try was begun with its row. */
export function begunProgress(run: RunHandle, { timeoutMs }: PreparedTool, begunAt: number): CallProgress {
  const ownEndsBy = run.clock.monotonic() + timeoutMs;
  const times = { sentAt: run.clock.now(), ownEndsBy, endedBy: null, begunAt };
  return { isBegun: true, attempt: 1, unsent: 0, mayHaveHappened: false, correlationId: null, ...times };
}
