import type { LiveWorker, QueueActivity, StoreReader, WorkerCounts } from "../../store/store.ts";

/** A worker, and what it did per minute lately. */
export type WorkerView = LiveWorker & { readonly claimedPerMin: number; readonly finishedPerMin: number };

/** What `pawl top` shows. */
export type ActivityView = QueueActivity & {
  readonly at: number;
  readonly workers: readonly WorkerView[];
};

/** Of each list of runs and waits: the counts say how many more there are. */
const MOST_LISTED = 5;

const MINUTE_MS = 60_000;

/** A rate over a shorter time than this says nothing, since workers report every few seconds. */
const SHORTEST_MS = 15_000;

type ActivitySample = { readonly at: number; readonly counts: ReadonlyMap<string, WorkerCounts> };

/** Reads the activity of a store at each look, and computes the rates of the last minute. */
export class ActivityReader {
  readonly #store: StoreReader;
  #samples: readonly ActivitySample[] = [];

  constructor(store: StoreReader) {
    this.#store = store;
  }

  async read(now: number): Promise<ActivityView> {
    const activity = await this.#store.readActivity({ limit: MOST_LISTED });
    const workers = await this.#store.listWorkers();
    const before = this.#samples.find(({ at }) => now - at >= SHORTEST_MS && now - at <= MINUTE_MS);
    const counts = new Map(workers.map(({ workerId, facts }) => [workerId, facts.counts]));
    this.#samples = [...this.#samples.filter(({ at }) => now - at <= MINUTE_MS), { at: now, counts }];
    return { ...activity, at: now, workers: workers.map((worker) => withRates(worker, now, before)) };
  }
}

/** Over the last minute, as far as it was watched; over its whole life, if it was not. */
function withRates(worker: LiveWorker, now: number, before: ActivitySample | undefined): WorkerView {
  const { counts } = worker.facts;
  const known = before?.counts.get(worker.workerId);
  const since = known === undefined || before === undefined ? worker.startedAt : before.at;
  const minutes = Math.max(1_000, now - since) / MINUTE_MS;
  const rate = (count: (counts: WorkerCounts) => number) =>
    Math.max(0, Math.round(((count(counts) - (known === undefined ? 0 : count(known))) / minutes) * 10) / 10);
  return {
    ...worker,
    claimedPerMin: rate(({ claimed }) => claimed),
    finishedPerMin: rate(({ succeeded, failed }) => succeeded + failed),
  };
}
