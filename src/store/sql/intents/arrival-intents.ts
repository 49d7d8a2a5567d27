import { BundleRefusedError } from "../../../core/errors.ts";
import { decideArrival, type RunThere } from "../../../core/run/arrival-decision.ts";
import type { ArrivalOutcome, ArrivingRun, BundleRow, Fence, RunRecord } from "../../store.ts";
import { BUNDLE_TABLES, bundleShape, storedValues } from "../bundle-tables.ts";
import { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import { findAddress } from "../tables/address-rows.ts";
import { assertFence } from "../tables/fence.ts";
import { getTombstone, missingRun } from "../tables/missing-run.ts";
import { moveOf, readStoreId } from "../tables/moved-run.ts";
import { runRow } from "../tables/run-columns.ts";
import { readPartsOfRecord, requireRecord, savedRecord } from "../tables/run-record.ts";
import { findRun, type RunRow, saveRun } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";
import { isLostBlob, verify } from "../verify/verify.ts";
import type { RowValues } from "../write.ts";
import { assertFree } from "./move-intents.ts";
import { freeLease } from "./run-interruption.ts";
import { nextWake } from "./wait-intents.ts";

// A run arrives in pieces, each a transaction of its own, so that memory and transactions stay small. Until the last
// one, its row has the status `moved`, with this store as the target: nobody claims it. The pieces are no events; the
// last one is, and it verifies the whole run.

/** The import loses its right to write if it writes nothing for this long. */
const LEASE_MS = 10_000;

/** The id of the run that arrives. */
export function runIdOf({ run }: ArrivingRun): string {
  return new Row(storedValues(run).row).text("run_id");
}

export function* beginArrival(tx: Transaction, arriving: ArrivingRun): SqlScript<ArrivalOutcome> {
  const { row: values } = storedValues(arriving.run);
  // Only read: `runRow` takes the number that a row has in its database.
  const bundled = runRow(new Row({ run_key: 0, ...values }));
  const { runId } = bundled;
  const storeId = yield* readStoreId();
  const move = moveOf(bundled);
  if (bundled.status !== "moved" || move === null || move.to !== storeId)
    throw otherTarget(runId, move?.to ?? null, storeId);
  const there = yield* findRun(runId);
  if (there !== null && isOf(tx, there, arriving)) return begun(there);
  if (there === null) yield* passTombstone(tx, runId, arriving);
  const known = there === null ? null : yield* factsOf(there, bundled, storeId);
  const decision = decideArrival(known, {
    seq: bundled.eventSeq,
    hash: hex(bundled.eventHash),
    moves: arriving.moves,
  });
  switch (decision.kind) {
    case "another":
      throw otherRun(runId);
    case "arrived":
      return { kind: "arrived", run: yield* requireRecord(runId) };
    case "receive":
      if (there !== null) yield* assertFree(tx, there, (owner) => `is being imported by ${owner}`);
      return begun(yield* writeArrivingRow(tx, { there, bundled, values, token: arriving.token }));
  }
}

/**
 * What was deleted may have been only the copy that a move leaves behind: then the run may come back, if the bundle
 * continues that copy, and the tombstone goes.
 */
function* passTombstone(tx: Transaction, runId: string, { moves }: ArrivingRun): SqlScript<void> {
  const stone = yield* getTombstone(runId);
  if (stone === null) return;
  if (stone.status !== "moved" || moves.get(stone.events) !== stone.eventHash) throw yield* missingRun(runId);
  tx.write({ kind: "remove", table: "tombstones", key: { run_id: runId } });
}

function begun({ runId, epoch }: Pick<RunRow, "runId" | "epoch">): ArrivalOutcome {
  return { kind: "begun", fence: { runId, epoch } };
}

/** True if this very import has begun already, and its answer was lost. */
function isOf(tx: Transaction, there: RunRow, { token }: ArrivingRun): boolean {
  return there.status === "moved" && there.owner === tx.leases.owner && there.marks === token;
}

function* factsOf(there: RunRow, bundled: RunRow, storeId: string | null): SqlScript<RunThere> {
  const isMoved = there.status === "moved";
  const isArriving = isMoved && moveOf(there)?.to === storeId;
  const event = yield* get(
    "SELECT hash FROM events WHERE run_key = ? AND seq = ?",
    there.key,
    bundled.eventSeq,
  );
  return {
    isArriving,
    isMovedAway: isMoved && !isArriving,
    seq: there.eventSeq,
    hash: hex(there.eventHash),
    hashAtMove: event === null ? null : event.hex("hash"),
  };
}

type Arrival = {
  readonly there: RunRow | null;
  readonly bundled: RunRow;
  readonly values: RowValues;
  readonly token: string;
};

/** Writes the row as it is in the bundle, held by this import under a new epoch: an earlier import can no longer write. */
function* writeArrivingRow(
  tx: Transaction,
  { there, bundled, values, token }: Arrival,
): SqlScript<Pick<RunRow, "runId" | "epoch">> {
  const { runId } = bundled;
  const epoch = Math.max(there?.epoch ?? 0, bundled.epoch) + 1;
  const held: RowValues = {
    ...values,
    owner: tx.leases.owner,
    epoch,
    lease_until: tx.now + LEASE_MS,
    lease_ms: LEASE_MS,
    // It sends nothing, so it needs no marks.
    marks: token,
  };
  if (there === null) {
    const key = yield* tx.newRunKey(runId);
    tx.write({ kind: "insert", table: "runs", row: { run_key: key, ...held } });
  } else {
    const { run_id: _, ...set } = held;
    tx.write({ kind: "advance", runId, key: there.key, previousHash: there.eventHash, set });
    tx.heads.delete(runId);
  }
  return { runId, epoch };
}

/** The row of a run that this import may write. */
function* arrivingRun(tx: Transaction, fence: Fence): SqlScript<RunRow> {
  const run = yield* findRun(fence.runId);
  if (run === null) throw yield* missingRun(fence.runId);
  if (run.status !== "moved") throw otherRun(fence.runId);
  return assertFence(tx, run, fence);
}

const ROWS_AT_ONCE = 500;

/** The queries for the keys of some rows, children before their parents. */
const LEFT_ROWS = BUNDLE_TABLES.filter((table) => table !== "runs")
  .toReversed()
  .map((table) => {
    const columns = ["run_key", ...bundleShape(table).key];
    const query = `SELECT ${columns.join(", ")} FROM ${table} WHERE run_key = ? LIMIT ${ROWS_AT_ONCE}`;
    return { table, columns, query };
  });

export function* dropArrivingRows(tx: Transaction, fence: Fence): SqlScript<boolean> {
  const run = yield* arrivingRun(tx, fence);
  renew(tx, run);
  for (const { table, columns, query } of LEFT_ROWS) {
    const rows = yield* all(query, run.key);
    for (const row of rows) {
      const key = Object.fromEntries(columns.map((column) => [column, row.value(column)]));
      tx.write({ kind: "remove", table, key });
    }
    if (rows.length > 0) return true;
  }
  return false;
}

export function* storeArrivingRows(
  tx: Transaction,
  fence: Fence,
  rows: readonly BundleRow[],
): SqlScript<void> {
  const run = yield* arrivingRun(tx, fence);
  renew(tx, run);
  for (const each of rows) {
    const { table, row } = storedValues(each);
    if (table === "runs") throw new Error("The row of a run arrives first, and alone.");
    if (table === "addresses") yield* assertAddressFree(run.runId, new Row(row).text("address"));
    // Kept, so that a piece whose answer was lost can be sent again.
    tx.write({ kind: "keep", table, row: { run_key: run.key, ...row } });
  }
}

function renew(tx: Transaction, { runId, key, owner, epoch }: RunRow): void {
  tx.write({ kind: "renew", runId, key, owner: owner ?? "", epoch, leaseMs: LEASE_MS });
}

export function* finishArrival(tx: Transaction, fence: Fence, blobs: number): SqlScript<RunRecord> {
  const run = yield* arrivingRun(tx, fence);
  const { runId } = run;
  const move = moveOf(run);
  if (move === null) throw otherRun(runId);
  const parts = yield* readPartsOfRecord(run);
  freeLease(run);
  run.status = move.status;
  run.moved = null;
  run.wakeAt = yield* wakeHere(tx, run);
  run.isUnstarted = run.status === "queued" && run.readyAt === null;
  saveRun(tx, run, "run.arrived", { from: move.from, epoch: run.epoch });
  // Last, so that it sees the run as it will be; if it is not whole, nothing of this intent is stored.
  const found = yield* verify(runId);
  const [problem] = found.problems.filter((each) => !isLostBlob(each));
  if (problem !== undefined) throw notWhole(runId, `${problem.row} ${problem.what}`);
  if (found.blobs !== blobs) throw notWhole(runId, `${found.blobs} of ${blobs} blobs are there`);
  return savedRecord(tx, run, parts);
}

/** When the clock has something to do about a run that has arrived: the store that it left no longer knows. */
function* wakeHere(tx: Transaction, run: RunRow): SqlScript<number | null> {
  if (run.status === "waiting") return yield* nextWake(run);
  return run.status === "queued" && run.readyAt !== null && run.readyAt > tx.now ? run.readyAt : null;
}

/** An address leads to one run of a store. */
function* assertAddressFree(runId: string, address: string): SqlScript<void> {
  const other = yield* findAddress(address);
  if (other !== null && other !== runId)
    throw new BundleRefusedError(
      `Run ${runId} did not arrive: its address ${JSON.stringify(address)} belongs to run ${other} in this store. End that run, then import the bundle again.`,
      { reason: "address" },
    );
}

function otherTarget(runId: string, to: string | null, storeId: string | null): BundleRefusedError {
  return new BundleRefusedError(
    `The bundle of run ${runId} is for the store ${to}, and this one is ${storeId ?? "without an id"}: import it there. Nothing was imported.`,
    { reason: "target" },
  );
}

function otherRun(runId: string): BundleRefusedError {
  return new BundleRefusedError(
    `This store has a run ${runId} that the bundle does not continue: another one of the same id, or the same one before it was moved away. Nothing was imported.`,
    { reason: "other_run" },
  );
}

function notWhole(runId: string, what: string): BundleRefusedError {
  return new BundleRefusedError(
    `Run ${runId} did not arrive whole: ${what}. It was not accepted: import its bundle again.`,
    { reason: "damaged" },
  );
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
