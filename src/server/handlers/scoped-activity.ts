import { asksPeople } from "../../core/wait.ts";
import type { QueueActivity, RunFilter, RunSummary, StoreReader, WaitRecord } from "../../store/store.ts";
import type { Scope } from "../principal.ts";
import { runFilterIn } from "../scope/run-filter.ts";
import { openWaitsIn } from "./wait-page.ts";

type ScopedActivity = Pick<QueueActivity, "ready" | "sleeping" | "running" | "held" | "waits">;

/** The store lists no more than this at a time: a scope with more is shown in part. */
const MOST_SEEN = 1_000;

const NOTHING: ScopedActivity = { ready: [], sleeping: [], running: [], held: [], waits: [] };

/** The activity of the runs in a scope. The store counts all runs together, so these are counted one by one. */
export async function scopedActivity(
  store: StoreReader,
  scope: Scope,
  now: number,
): Promise<ScopedActivity> {
  const filter = runFilterIn(scope);
  if (filter === null) return NOTHING;
  const queued = await listed(store, { ...filter, status: "queued" });
  const waiting = await listed(store, { ...filter, status: "waiting" });
  const running = await listed(store, { ...filter, status: ["running", "interrupted"] });
  const ids = new Set(running.map(({ runId }) => runId));
  const { held } = await store.readActivity({ limit: MOST_SEEN });
  return {
    ready: grouped(queued.filter((run) => run.wakeAt === null), ({ queue, pipeline }) => ({ queue, pipeline })).map(
      ([of, runs]) => ({ ...of, ready: runs.length, oldestMs: now - least(runs, (run) => run.readyAt ?? now) }),
    ),
    sleeping: grouped([...queued, ...waiting].filter((run) => run.wakeAt !== null), ({ queue }) => ({ queue })).map(
      ([of, runs]) => ({ ...of, sleeping: runs.length, nextInMs: least(runs, (run) => run.wakeAt ?? now) - now }),
    ),
    running: grouped(running, ({ queue }) => ({ queue })).map(([of, runs]) => ({ ...of, running: runs.length })),
    held: held.filter(({ runId }) => ids.has(runId)),
    waits: waitsByKind(await openWaitsIn(store, scope, MOST_SEEN), now),
  };
}

function listed(store: StoreReader, filter: RunFilter): Promise<readonly RunSummary[]> {
  return store.listRunSummaries({ ...filter, limit: MOST_SEEN });
}

function waitsByKind(waits: readonly WaitRecord[], now: number): ScopedActivity["waits"] {
  const asking = waits.filter(({ kind }) => asksPeople(kind));
  return grouped(asking, ({ kind }) => ({ kind })).map(([of, group]) => ({
    ...of,
    open: group.length,
    oldestMs: now - least(group, ({ createdAt }) => createdAt),
  }));
}

function grouped<T, K extends object>(items: readonly T[], keyOf: (item: T) => K): readonly (readonly [K, readonly T[]])[] {
  const groups = Map.groupBy(items, (item) => JSON.stringify(keyOf(item)));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [[keyOf(first), group] as const];
  });
}

function least<T>(items: readonly T[], of: (item: T) => number): number {
  return Math.min(...items.map(of));
}
