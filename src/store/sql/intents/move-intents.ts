import { constants } from "node:buffer";
import { randomBytes } from "node:crypto";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { ConfigurationError, RunBusyError } from "../../../core/errors.ts";
import type { OwnStatus, RunMove } from "../../store.ts";
import { get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { leftOpen } from "../tables/fence.ts";
import { missingRun } from "../tables/missing-run.ts";
import { moveOf, readStoreId, runMoved } from "../tables/moved-run.ts";
import { findRun, type RunRow, saveRun } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";
import { isLostBlob, verify } from "../verify/verify.ts";
import { assertWhole } from "../verify/verify-open.ts";
import { leaveRunningCalls } from "./in-doubt.ts";
import { endAttempt, settleOpenCalls } from "./left-open.ts";
import { lostCallFacts } from "./run-intents.ts";
import { freeLease } from "./run-interruption.ts";

/** Gives this database its id, once. */
export function* identify(tx: Transaction): SqlScript<string> {
  const known = yield* readStoreId();
  if (known !== null) return known;
  const storeId = randomBytes(16).toString("hex");
  tx.write({ kind: "keep", table: "identity", row: { place: 1, store_id: storeId } });
  // Of two processes that do this at once, one keeps its id: the other reads that.
  return (yield* readStoreId()) ?? storeId;
}

/**
 * Marks a run as moved to another store, before its bundle is made: from here on it cannot change, so the bundle can be
 * made any number of times, and is the same. If the process dies in between, the run is alive nowhere, and nothing is
 * lost.
 */
export function* moveRun(tx: Transaction, runId: string, to: string): SqlScript<RunMove> {
  const row = yield* findRun(runId);
  if (row === null) throw yield* missingRun(runId);
  const from = yield* readStoreId();
  const known = moveOf(row);
  if (known !== null && known.to === to && to !== from) return known;
  if (known !== null) throw runMoved(runId, known, from);
  if (from === null || to === from)
    throw new ConfigurationError(
      `Run ${runId} is in the store ${to} already: name the store that it moves to.`,
    );
  yield* assertFree(tx, row, (owner) => `is being worked on by ${owner} and cannot be moved`);
  const { problems } = yield* verify(runId);
  assertWhole({ runId, problems: problems.filter((problem) => !isLostBlob(problem)) });
  yield* assertBlobsFit(row);
  return yield* markMoved(tx, row, { from, to });
}

function* markMoved(
  tx: Transaction,
  row: RunRow,
  { from, to }: Pick<RunMove, "from" | "to">,
): SqlScript<RunMove> {
  // The notes of what a dead worker sent are beside this database: only here they can be read.
  const left = yield* leftOpen(tx.leases, row);
  const lost = yield* settleOpenCalls(tx, row, left);
  const { facts } = yield* leaveRunningCalls(tx, row, left);
  if (row.owner !== null) endAttempt(tx, row, "interrupted");
  row.epoch += 1;
  freeLease(row);
  const move: RunMove = { from, to, status: row.status as OwnStatus };
  row.status = "moved";
  row.moved = canonicalJson(move);
  saveRun(tx, row, "run.moved", { ...move, ...facts, chargedAsLost: lost.map(lostCallFacts) });
  return move;
}

/** Throws if a living process has the run, or its rows that arrive; `what` says what that process does. */
export function* assertFree(tx: Transaction, row: RunRow, what: (owner: string) => string): SqlScript<void> {
  const { runId, owner } = row;
  if (owner === null) return;
  if (!tx.leases.isHeld(row, tx.now) && (yield* tx.mayTakeFrom(owner))) return;
  throw new RunBusyError(`Run ${runId} ${what(owner)}: wait for it, or stop that process.`, {
    runId,
    owner,
    until: new Date(tx.leases.endOf(row, tx.now)).toISOString(),
  });
}

/** A line of a bundle is one text. */
const LARGEST_BLOB = Math.floor(((constants.MAX_STRING_LENGTH - 1_000) / 4) * 3);

function* assertBlobsFit({ key, runId }: { key: RunKey; runId: string }): SqlScript<void> {
  const row = yield* get("SELECT coalesce(max(size), 0) AS largest FROM blobs WHERE run_key = ?", key);
  const largest = row?.int("largest") ?? 0;
  if (largest > LARGEST_BLOB)
    throw new ConfigurationError(
      `Run ${runId} has a blob of ${largest} bytes, and a bundle can hold at most ${LARGEST_BLOB}: it cannot be moved.`,
    );
}
