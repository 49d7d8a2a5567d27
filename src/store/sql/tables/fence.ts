import { LeaseLostError, StoreUnavailableError } from "../../../core/errors.ts";
import type { Fence } from "../../store.ts";
import { type AbandonedAttempts, ANYTHING, type Leases } from "../leases.ts";
import type { RunHead } from "../run-head.ts";
import { get, type SqlScript } from "../script.ts";
import type { Transaction } from "../transaction.ts";

/**
 * The owner counts as well as the epoch: a database that was restored, or that failed over and lost commits, may give out
 * an epoch twice.
 */
export function assertFence<R extends RunHead>({ leases }: Transaction, run: R, fence: Fence): R {
  if (run.epoch === fence.epoch && run.owner === leases.owner) return run;
  throw new LeaseLostError(
    `Run ${fence.runId} was ${run.owner === null ? "released" : `claimed by ${run.owner}`} (epoch ${run.epoch}): this worker (epoch ${fence.epoch}) wrote nothing and must stop.`,
    { runId: fence.runId, epoch: fence.epoch },
  );
}

/**
 * A worker continues from what it knows. If the database no longer has that, an intent could fit what it has instead,
 * and the run would continue with a hole in it.
 */
export function* assertNothingLost(leases: Leases, run: RunHead): SqlScript<void> {
  const lost = yield* lostEvents(leases, run);
  if (lost !== null) throw lost;
}

/** The error for a run whose log lacks an event that this store knows to be stored; null if it has them all. */
export function* lostEvents(leases: Leases, run: RunHead): SqlScript<StoreUnavailableError | null> {
  const known = leases.lastEvent(run.runId);
  if (known === null) return null;
  const hash = run.eventSeq <= known.seq ? run.eventHash : yield* hashOf(run, known.seq);
  if (run.eventSeq >= known.seq && hash !== null && Buffer.compare(hash, known.hash) === 0) return null;
  return new StoreUnavailableError(
    `The database no longer has event ${known.seq} of run ${run.runId}, which it had stored: it was restored, or a replica has taken its place that had not received it. It now has ${run.eventSeq} events of the run. What this worker did since then is not in the store and may be repeated: check what it did outside, then resume the run.`,
    { reason: "lost_commits" },
  );
}

function* hashOf(run: RunHead, seq: number): SqlScript<Uint8Array | null> {
  const event = yield* get("SELECT hash FROM events WHERE run_key = ? AND seq = ?", run.key, seq);
  return event?.bytes("hash") ?? null;
}

/** What is known about the attempts that the owner of this row left open: nothing, if what it knew was lost. */
export function* leftOpen(
  leases: Leases,
  row: RunHead & Parameters<Leases["leftOpen"]>[0],
): SqlScript<AbandonedAttempts> {
  return (yield* lostEvents(leases, row)) === null ? leases.leftOpen(row) : ANYTHING;
}
