import { LeaseLostError } from "../../../core/errors.ts";
import type { Fence } from "../../store.ts";
import type { RunHead } from "../run-head.ts";
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
