import { isInterrupted } from "../../account/run-status.ts";
import type { RunSummary } from "../../store/store.ts";

/** A renewal of a lease is no news of its own: a page gets it this often. */
const RENEWALS_MS = 10_000;
/** A run whose lease has expired is looked at again no sooner than this. */
const LEAST_MS = 250;

type KnownRun = { readonly leaseUntil: number; readonly isInterrupted: boolean; readonly sentAt: number };

/**
 * The runs that workers hold, as they were last read. That a worker has died shows in no commit: only the clock says it, and
 * a look whether the lease was renewed.
 */
export class RunningRuns {
  readonly #runs = new Map<string, KnownRun>();
  #readAt = Number.NEGATIVE_INFINITY;

  /** The head of a run was sent. */
  note(run: RunSummary, now: number): void {
    if (run.status !== "running") this.#runs.delete(run.runId);
    else
      this.#runs.set(run.runId, {
        leaseUntil: run.leaseUntil,
        isInterrupted: isInterrupted(run, now),
        sentAt: now,
      });
  }

  /** True if the runs have to be read again. */
  isDue(now: number): boolean {
    if (this.#runs.size === 0 || now - this.#readAt < LEAST_MS) return false;
    if (now - this.#readAt >= RENEWALS_MS) return true;
    return [...this.#runs.values()].some((run) => !run.isInterrupted && run.leaseUntil <= now);
  }

  /** All runs that are running now. Returns those whose heads have to be sent again. */
  update(running: readonly RunSummary[], now: number): readonly RunSummary[] {
    this.#readAt = now;
    const ids = new Set(running.map(({ runId }) => runId));
    for (const runId of this.#runs.keys()) if (!ids.has(runId)) this.#runs.delete(runId);
    return running.filter((run) => this.#hasNews(run, now));
  }

  #hasNews(run: RunSummary, now: number): boolean {
    const known = this.#runs.get(run.runId);
    if (known === undefined || known.isInterrupted !== isInterrupted(run, now)) return true;
    if (known.leaseUntil === run.leaseUntil) return false;
    if (now - known.sentAt >= RENEWALS_MS) return true;
    this.#runs.set(run.runId, { ...known, leaseUntil: run.leaseUntil });
    return false;
  }
}
