import type { NewCheckpoint } from "../../store/store.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import { type RunWith, reach } from "../run/active-run.ts";
import { beforeSideEffect } from "../run/checkpoint-cursor.ts";
import { assertInTime } from "../run/deadline.ts";
import type { ClockReading } from "../run/lease-keeper.ts";
import type { PreparedCall } from "./call-prepared.ts";
import type { AttemptFailure } from "./tool-gateway.ts";

/**
 * The progress of a call. Its times, for an attempt that this worker makes:
 *
 *   begunAt        sentAt                                ownEndsBy            ownEndsBy + landsWithinMs
 *   │ ledger says  │ key sent for the first time;        │ given up on,       │ can no longer take effect:
 *   │ `running`    │ valid for `keyValidForMs`           │ or has ended       │ a look-up that finds nothing is final
 *   ▼              ▼                                     ▼                    ▼
 *   ───────────────────────────────────────────────────────────────────────────────►
 */
export type CallProgress = AttemptTimes & {
  /** True while the ledger says `running` for an attempt of this worker that was not dispatched yet. */
  readonly isBegun: boolean;
  /** The number of the last attempt; 0 before the first. */
  readonly attempt: number;
  /** Wall time at which the idempotency key was sent for the first time. */
  readonly sentAt: number | null;
  /** Attempts that were certainly never sent: they do not count as retries. */
  readonly unsent: number;
  /** True if an attempt before this one may have taken effect. */
  readonly mayHaveHappened: boolean;
  /** Monotonic time before the ledger was written. */
  readonly begunAt: number;
  /** The outside system's id of the last attempt. */
  readonly correlationId: string | null;
};

/** The latest time at which the last attempt of a call has ended. */
export type AttemptTimes = {
  /** By this worker's monotonic clock, for its own attempts and for those of earlier workers; null before the first. */
  readonly ownEndsBy: number | null;
  /** By the wall clock, for an attempt of an earlier worker that is known to have ended; else null. */
  readonly endedBy: number | null;
};

/** Milliseconds after `at` in which the last attempt may still take effect; 0 or less if it no longer can. */
export function remainingLandingMs(
  { ownEndsBy, endedBy }: AttemptTimes,
  at: ClockReading,
  landsWithinMs: number,
): number {
  if (ownEndsBy === null) return 0;
  const byOwn = ownEndsBy + landsWithinMs - at.monotonic;
  return endedBy === null ? byOwn : Math.min(byOwn, endedBy + landsWithinMs - at.wall);
}

/** The progress of a call whose first attempt was begun together with its row. */
export function begunProgress(
  { time }: RunWith<"time">,
  { timeoutMs }: PreparedTool,
  begunAt: number,
): CallProgress {
  const ownEndsBy = time.clock.monotonic() + timeoutMs;
  const times = { sentAt: time.clock.now(), ownEndsBy, endedBy: null, begunAt };
  return { isBegun: true, attempt: 1, unsent: 0, mayHaveHappened: false, correlationId: null, ...times };
}

/** What recording attempts in the ledger needs of a run. */
type LedgerRun = RunWith<
  "runId" | "fence" | "store" | "contract" | "time" | "stop" | "observe" | "keeper" | "artifacts"
>;

/** The attempts of one call, as the ledger records them: each is begun before it is sent, and ended before the next. */
export class CallAttempts {
  readonly #run: LedgerRun;
  readonly #call: PreparedCall;
  #progress: CallProgress;

  constructor(run: LedgerRun, call: PreparedCall, progress: CallProgress) {
    this.#run = run;
    this.#call = call;
    this.#progress = progress;
  }

  get progress(): CallProgress {
    return this.#progress;
  }

  /** An attempt so far may have taken effect. */
  markMayHaveHappened(): void {
    this.#progress = { ...this.#progress, mayHaveHappened: true };
  }

  /** It is certain that no attempt so far has taken effect. */
  markNotHappened(): void {
    this.#progress = { ...this.#progress, mayHaveHappened: false };
  }

  /** Writes `running` to the ledger, before anything is sent. */
  async begin(): Promise<void> {
    if (this.#progress.isBegun) {
      this.#progress = { ...this.#progress, isBegun: false };
      return;
    }
    const run = this.#run;
    const { stepKey, stepPath, turnIndex, callIndex, tool, approvedArguments } = this.#call;
    // Without a checkpoint the call begins in this tick, and a store may make it one commit with the receipt of the call
    // before it.
    const hasCheckpoint = this.#progress.attempt === 0 && run.contract.phases.length > 0;
    const checkpoint = hasCheckpoint ? await this.#checkpoint() : null;
    run.stop.signal.throwIfAborted();
    assertInTime(run);
    const begunAt = run.time.clock.monotonic();
    reach(run, "tool:before-start", stepPath, turnIndex);
    await run.store.startToolCalls(run.fence, {
      stepKey,
      turnIndex,
      calls: [{ callIndex, timeoutMs: tool.timeoutMs, approvedArguments }],
      ...(checkpoint === null ? {} : { checkpoint }),
    });
    reach(run, "tool:started", stepPath, turnIndex);
    const now = run.time.clock.now();
    const { attempt, sentAt, unsent, mayHaveHappened } = this.#progress;
    this.#progress = {
      isBegun: false,
      attempt: attempt + 1,
      sentAt: sentAt ?? now,
      unsent,
      mayHaveHappened,
      endedBy: null,
      ownEndsBy: run.time.clock.monotonic() + tool.timeoutMs,
      begunAt,
      correlationId: null,
    };
  }

  /** The checkpoint before the first attempt of a call that waited for its place in the queue, or for a person. */
  async #checkpoint(): Promise<NewCheckpoint | null> {
    const { stepPath, turnIndex, tool } = this.#call;
    const step = await this.#run.store.findStep(this.#run.runId, stepPath);
    return step === null ? null : beforeSideEffect(this.#run, step, turnIndex, [tool.effect]);
  }

  /** Records the end of a failed attempt, and whether it leaves the call in doubt. */
  async end(failure: AttemptFailure, leaves: "in_doubt" | "no_doubt"): Promise<void> {
    const run = this.#run;
    const { stepKey, stepPath, turnIndex, callIndex } = this.#call;
    const { outcome, errorCode, message, correlationId, hasEnded } = failure;
    const { attempt } = this.#progress;
    reach(run, "tool:before-try-end", stepPath, turnIndex);
    await run.store.endToolCallAttempt(run.fence, {
      stepKey,
      turnIndex,
      callIndex,
      attempt,
      outcome,
      errorCode,
      errorDetail: message,
      correlationId,
      inDoubt: leaves === "in_doubt",
      hasEnded,
    });
    reach(run, "tool:try-ended", stepPath, turnIndex);
    if (hasEnded) this.#progress = { ...this.#progress, ownEndsBy: run.time.clock.monotonic() };
  }
}
