import assert from "node:assert/strict";
import { type PawlError, StoreUnavailableError } from "../../core/errors.ts";
import type { Store } from "../../store/store.ts";
import { readEverything } from "./everything.ts";
import { openOnThread, type StoreOnThread } from "./store-thread.ts";

/** A fresh database on which any number of stores can be opened, each like a process of its own. */
export interface ConformanceDatabase {
  open(): Promise<Store>;
  /** For the checks with stores on `threads`, which fail without it. */
  readonly thread?: StoreOnThread;
  /** Removes the database, after its stores were closed. */
  dispose(): Promise<void>;
}

/** Makes an empty database for one check. */
export type OpenConformanceDatabase = (options: {
  readonly now: () => number;
  /** A monotonic clock, by which stores watch the leases of others. */
  readonly monotonic: () => number;
}) => Promise<ConformanceDatabase>;

/** The environment of a check. */
export type Scene = {
  /** The first store on the database. */
  readonly store: Store;
  /** Opens one more, as another process would. For checks of `several` stores. */
  readonly openAnother: () => Promise<Store>;
  readonly now: () => number;
  /** Advances the clock that leases, events and blobs depend on. */
  readonly advance: (ms: number) => void;
  /**
   * Every worker falls silent for this long, and every store has watched it: only then may others claim the run of a
   * living process.
   */
  readonly fallSilent: (ms: number) => Promise<void>;
  /** Opens a store on a thread of its own, whose clock is off by so much. For checks with `threads`. */
  readonly openOnThread: (clockOffMs?: number) => Promise<Store>;
  /** Whose clock leases are measured by. */
  readonly clock: StoreOnThread["clock"];
};

/** How many stores a check opens on its database: `threads` also opens some on threads of their own. */
export type StoresOfCheck = "one" | "several" | "threads";

export type Check = {
  readonly name: string;
  readonly stores: StoresOfCheck;
  readonly body: (scene: Scene) => Promise<void>;
};

export function check(name: string, body: (scene: Scene) => Promise<void>): Check {
  return { name, stores: "one", body };
}

export function checkSeveral(name: string, body: (scene: Scene) => Promise<void>): Check {
  return { name, stores: "several", body };
}

/** By the clocks of the system: a thread cannot be given others. */
export function checkThreads(name: string, body: (scene: Scene) => Promise<void>): Check {
  return { name, stores: "threads", body };
}

const REAL_CLOCKS = { now: () => Date.now(), monotonic: () => performance.now() };

export async function runCheck({ stores, body }: Check, open: OpenConformanceDatabase): Promise<void> {
  const start = Date.UTC(2026, 0, 1);
  let now = start;
  const clocks = { now: () => now, monotonic: () => now - start };
  const database = await open(stores === "threads" ? REAL_CLOCKS : clocks);
  const opened: Store[] = [];
  const threads: { end(): Promise<void> }[] = [];
  const openOne = async () => {
    const store = await database.open();
    opened.push(store);
    return store;
  };
  try {
    const store = await openOne();
    await body({
      store,
      openAnother: () => {
        assert.notEqual(stores, "one", "a check that opens another store is a checkSeveral");
        return openOne();
      },
      now: () => now,
      advance: (ms) => {
        now += ms;
      },
      fallSilent: async (ms) => {
        for (const each of opened)
          for (const { runId } of await each.listRuns({ status: ["running", "interrupted"] }))
            await each.isHeld(runId);
        now += ms;
      },
      openOnThread: async (clockOffMs = 0) => {
        assert.ok(database.thread !== undefined, "the database says how a thread opens a store on it");
        const threaded = await openOnThread(database.thread, clockOffMs);
        threads.push(threaded);
        return threaded.store;
      },
      clock: database.thread?.clock ?? "process",
    });
    await assertVerified(store);
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
    await Promise.all(opened.map((store) => store.close({ graceMs: 0 })));
    await database.dispose();
  }
}

/** After every check, the stored rows are what was written. Only blobs may be missing, after a collection. */
async function assertVerified(store: Store): Promise<void> {
  try {
    assert.deepEqual(await store.checkIntegrity(), [], "the database itself is intact");
    for (const { runId } of await store.listRuns()) {
      const { problems } = await store.verify(runId);
      assert.deepEqual(
        problems.filter(({ row }) => !row.startsWith("blob ")),
        [],
        `run ${runId} verifies without problems`,
      );
    }
  } catch (error) {
    // The check has closed it.
    if (!StoreUnavailableError.isInstance(error)) throw error;
  }
}

type ErrorClass<E extends PawlError> = { isInstance(error: unknown): error is E; readonly name: string };

/** Asserts that the intent is refused, with this error if one is given, and that the run is unchanged. */
export async function assertRefused<E extends PawlError>(
  store: Store,
  runId: string,
  attempt: () => Promise<unknown>,
  expected?: ErrorClass<E>,
): Promise<unknown> {
  const before = await readEverything(store, runId);
  const error = await rejection(attempt());
  if (expected !== undefined)
    assert.ok(expected.isInstance(error), `expected ${expected.name}, got ${String(error)}`);
  assert.deepEqual(await readEverything(store, runId), before, "a refused intent changes nothing");
  return error;
}

export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof Error, "the rejection is an Error");
    return error;
  }
  assert.fail("the intent should have been refused");
}
