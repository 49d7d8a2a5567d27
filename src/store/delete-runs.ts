import type { Person } from "../core/person.ts";
import type { Amount } from "../core/usage/usage.ts";
import type { EndedRun, EndedStatus } from "./retention.ts";
import type { Store } from "./store.ts";

/** Which ended runs `deleteRuns` deletes. */
export type RunRetention = {
  /** Those that ended before this time, in milliseconds since 1970. */
  readonly endedBefore: number;
  /** Only those with this status. By default all that succeeded, failed or were cancelled. */
  readonly status?: EndedStatus;
  readonly pipeline?: string;
  /** At most this many, the one that ended first at first; all by default. */
  readonly limit?: number;
  /** Counts them, and deletes nothing. */
  readonly dryRun?: boolean;
  /** Kept with each tombstone; by default that the run was older than allowed. */
  readonly why?: string;
  readonly by?: Person;
  /** How many are listed at a time; 100 by default. */
  readonly step?: number;
  /** Called after each step, with what was deleted so far. */
  readonly onProgress?: (soFar: DeletedRuns) => void;
};

/** How many runs were deleted, or would be, and what they had cost. */
export type DeletedRuns = {
  readonly runs: number;
  readonly charged: Amount;
  /** Runs that were resumed or taken up meanwhile, and so are kept. */
  readonly kept: number;
};

/**
 * Deletes runs that ended long ago, each in a transaction of its own: others can write in between, and what was deleted
 * stays deleted if this process dies.
 *
 * @example
 * const store = await openStore("file:pawl.db");
 * await deleteRuns(store, { endedBefore: Date.now() - 90 * 86_400_000, why: "retention of 90 days" });
 * await store.close();
 */
export async function deleteRuns(store: Store, retention: RunRetention): Promise<DeletedRuns> {
  const { limit = Number.POSITIVE_INFINITY, step = 100, onProgress } = retention;
  const { endedBefore, status, pipeline } = retention;
  const chosen = {
    endedBefore,
    ...(status === undefined ? {} : { status }),
    ...(pipeline === undefined ? {} : { pipeline }),
  };
  let soFar: DeletedRuns = { runs: 0, charged: { tokens: 0, microDollars: 0 }, kept: 0 };
  let after: EndedRun | undefined;
  while (soFar.runs < limit) {
    const size = Math.min(step, limit - soFar.runs);
    const ended = await store.listEndedRuns({
      ...chosen,
      ...(after === undefined ? {} : { after }),
      limit: size,
    });
    for (const run of ended) soFar = added(soFar, await deleteOne(store, run, retention));
    after = ended.at(-1);
    if (ended.length > 0) onProgress?.(soFar);
    if (ended.length < size) break;
  }
  return soFar;
}

/** What the run had cost; null if it is kept. */
async function deleteOne(
  store: Store,
  { runId }: EndedRun,
  { dryRun = false, endedBefore, why, by }: RunRetention,
): Promise<Amount | null> {
  if (dryRun) return (await store.getRun(runId))?.charged ?? null;
  const reason = why ?? `It ended before ${new Date(endedBefore).toISOString()}.`;
  try {
    return (await store.deleteRun(runId, { why: reason, ...(by === undefined ? {} : { by }) })).charged;
  } catch (error) {
    // Resumed since it was listed.
    const run = await store.getRun(runId);
    if (run !== null && (run.status === "running" || run.status === "queued" || run.status === "waiting"))
      return null;
    throw error;
  }
}

function added({ runs, charged, kept }: DeletedRuns, more: Amount | null): DeletedRuns {
  if (more === null) return { runs, charged, kept: kept + 1 };
  return {
    runs: runs + 1,
    charged: {
      tokens: charged.tokens + more.tokens,
      microDollars: charged.microDollars + more.microDollars,
    },
    kept,
  };
}
