import type { ReadyRun, Store } from "../../store/store.ts";

/** A run that a worker may claim. */
export type FoundRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly queue: string;
  readonly concurrencyKey: string | null;
  /** When it became ready; null for one that a worker has left without releasing it. */
  readonly readyAt: number | null;
  /** The version of the worker that held it last; null if none did, or had none. */
  readonly workerVersion: string | null;
  /** For how long nobody has worked on it. */
  readonly idleMs: number;
};

/** The most sleeping runs that are woken at a time. */
const MOST_WOKEN = 100;

/** Wakes the runs whose time has come. Resolves to how long it is until the next one's; null if none sleeps. */
export async function wakeDueRuns(store: Store): Promise<number | null> {
  const sleeping = await store.listSleeping({ limit: MOST_WOKEN });
  const due = sleeping.filter(({ inMs }) => inMs === 0);
  // One that cannot be woken, because its rows were tampered with, must not keep the others asleep.
  const outcomes = await Promise.allSettled(due.map(({ runId }) => store.wakeRun(runId)));
  const failed = outcomes.filter(({ status }) => status === "rejected").length;
  if (due.length === MOST_WOKEN && failed < due.length) return 0;
  return sleeping.find(({ inMs }) => inMs > 0)?.inMs ?? null;
}

/** Runs that a worker left without releasing them, of these pipelines and queues. */
export async function abandonedRuns(
  store: Store,
  pipelines: ReadonlySet<string>,
  queues: ReadonlySet<string>,
): Promise<readonly FoundRun[]> {
  const abandoned = await store.listAbandoned();
  return abandoned
    .filter(({ pipeline, queue }) => pipelines.has(pipeline) && queues.has(queue))
    .map((run) => ({ ...run, concurrencyKey: null, readyAt: null }));
}

/** The next run that is ready, without those of queues and keys whose limits are reached. */
export class ReadyRuns {
  readonly #store: Store;
  readonly #pipelines: readonly string[];
  #queues: readonly string[];
  readonly #exceptKeys: { readonly queue: string; readonly key: string }[] = [];
  readonly #seen = new Set<string>();
  #page: ReadyRun[] = [];

  constructor(store: Store, pipelines: readonly string[], queues: readonly string[]) {
    this.#store = store;
    this.#pipelines = pipelines;
    this.#queues = queues;
  }

  /** Null if there is none. */
  async next(wanted: number): Promise<FoundRun | null> {
    for (;;) {
      const run = this.#page.shift();
      if (run !== undefined && this.#isOpen(run)) return run;
      if (run === undefined && !(await this.#read(wanted))) return null;
    }
  }

  /** A limit keeps this run from being claimed, and others like it. */
  leaveOut({ queue, concurrencyKey }: FoundRun, by: "total" | "queue" | "key"): void {
    if (by === "total") this.#queues = [];
    if (by === "queue") this.#queues = this.#queues.filter((each) => each !== queue);
    if (by === "key" && concurrencyKey !== null) this.#exceptKeys.push({ queue, key: concurrencyKey });
  }

  #isOpen({ queue, concurrencyKey }: ReadyRun): boolean {
    return (
      this.#queues.includes(queue) &&
      !this.#exceptKeys.some((each) => each.queue === queue && each.key === concurrencyKey)
    );
  }

  /** False if there is nothing that was not seen before. */
  async #read(wanted: number): Promise<boolean> {
    if (this.#queues.length === 0) return false;
    const ready = await this.#store.listReady({
      pipelines: this.#pipelines,
      queues: this.#queues,
      limit: wanted + this.#seen.size,
      exceptKeys: this.#exceptKeys,
    });
    this.#page = ready.filter(({ runId }) => !this.#seen.has(runId));
    for (const { runId } of this.#page) this.#seen.add(runId);
    return this.#page.length > 0;
  }
}
