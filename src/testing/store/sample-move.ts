import assert from "node:assert/strict";
import { openStore } from "../../store/open-store.ts";
import type { ArrivingRun, BundleRow, Fence, Store } from "../../store/store.ts";
import type { Scene } from "./check.ts";
import { readEverything } from "./everything.ts";
import { blobReceipt, SampleRun, sha256 } from "./sample-run.ts";
import { LARGE } from "./store-scenarios.ts";

/** Calls `work` with a store on another database: SQLite in memory, whatever store is checked. */
export async function withAnotherDatabase(
  { now }: Scene,
  work: (elsewhere: Store) => Promise<void>,
): Promise<void> {
  const elsewhere = await openStore(":memory:", { now });
  try {
    await work(elsewhere);
  } finally {
    await elsewhere.close({ graceMs: 0 });
  }
}

/** A run on its way from one store to another: all of its rows, as a bundle has them. */
export type RunInTransit = {
  readonly arriving: ArrivingRun;
  /** All but the row of the run itself. */
  readonly rows: readonly BundleRow[];
  readonly blobs: number;
};

/** Marks the run as moved, and reads its rows. */
export async function takenFrom(store: Store, runId: string, to: Store): Promise<RunInTransit> {
  await store.moveRun(runId, await to.storeId());
  const all: BundleRow[] = [];
  let part = await store.readMovedRows(runId);
  for (; part.next !== null; part = await store.readMovedRows(runId, part.next)) all.push(...part.rows);
  const [run, ...rows] = all;
  assert.ok(run?.table === "runs", "the row of the run comes first");
  const moves = (await store.listEvents(runId)).filter(({ type }) => type === "run.moved");
  return {
    arriving: { run, moves: new Map(moves.map(({ seq, hash }) => [seq, hash])), token: `${runId}-1` },
    rows,
    blobs: rows.filter(({ table }) => table === "blobs").length,
  };
}

export async function beginArrival(
  store: Store,
  { arriving }: RunInTransit,
  token = arriving.token,
): Promise<Fence> {
  const outcome = await store.beginArrival({ ...arriving, token });
  assert.ok(outcome.kind === "begun", `the run begins to arrive, got ${outcome.kind}`);
  return outcome.fence;
}

/** Stores all rows of the run, and finishes its arrival. */
export async function arrived(store: Store, transit: RunInTransit): Promise<void> {
  const fence = await beginArrival(store, transit);
  while (await store.dropArrivingRows(fence));
  for (let i = 0; i < transit.rows.length; i += PIECE)
    await store.storeArrivingRows(fence, transit.rows.slice(i, i + PIECE));
  await store.finishArrival(fence, transit.blobs);
}

const PIECE = 50;

/** The id of a store that nobody has. */
export const ELSEWHERE = "f".repeat(32);

/** A run that waits for a person, with a committed turn, a blob, and a call that was never started. */
export async function waitingRun(store: Store): Promise<SampleRun> {
  const run = await SampleRun.create(store);
  await run.committedWithCall(1, blobReceipt(1, LARGE));
  await run.journaled(2, ["prepared"]);
  await run.waiting(run.approval(2, 1, sha256("arguments").toString("hex")));
  return run;
}

/** Everything but what a move itself changes. */
export async function content(store: Store, runId: string): Promise<unknown> {
  const { run: _, events: __, ...rest } = (await readEverything(store, runId)) as { [part: string]: unknown };
  return rest;
}

export async function assertIntact(store: Store, runId: string): Promise<void> {
  assert.deepEqual((await store.verify(runId)).problems, []);
}
