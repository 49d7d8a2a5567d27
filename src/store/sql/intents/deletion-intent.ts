import { ConfigurationError } from "../../../core/errors.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import { decisionOf } from "../../../core/person.ts";
import type { RunDeletion, Tombstone } from "../../store.ts";
import { BUNDLE_TABLES } from "../bundle-tables.ts";
import { get, type SqlScript } from "../script.ts";
import { ENDED_STATUSES } from "../stored-words.ts";
import { getTombstone, missingRun } from "../tables/missing-run.ts";
import { moveOf, readStoreId, runMoved } from "../tables/moved-run.ts";
import { personText } from "../tables/person-text.ts";
import { lockedRun, type RunRow } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";
import { assertFree } from "./move-intents.ts";

/**
 * Removes every row of an ended run, and leaves a tombstone, in one transaction: to every reader the run is whole, or it
 * is gone. Its rows are not verified first, since a damaged run must be deletable too.
 */
export function* deleteRun(tx: Transaction, runId: string, deletion: RunDeletion): SqlScript<Tombstone> {
  assertReason(runId, deletion.why);
  const by = decisionOf(deletion.by ?? {}, tx.now);
  const run = yield* lockedRun(tx, runId);
  if (run === null) {
    const stone = yield* getTombstone(runId);
    if (stone === null) throw yield* missingRun(runId);
    return stone;
  }
  yield* assertEnded(tx, run);
  const ended = yield* get("SELECT updated_at FROM runs WHERE run_key = ?", run.key);
  // Children before their parents, and the run last.
  for (const table of BUNDLE_TABLES.toReversed())
    tx.write({ kind: "remove", table, key: { run_key: run.key } });
  tx.write({
    kind: "insert",
    table: "tombstones",
    row: {
      run_id: runId,
      pipeline: run.origin.pipeline,
      status: run.status,
      created_at: run.origin.createdAt,
      ended_at: ended?.int("updated_at") ?? tx.now,
      deleted_at: tx.now,
      deleted_by: personText(by),
      why: deletion.why,
      charged_tokens: run.quota.charged.tokens,
      charged_micro_dollars: run.quota.charged.microDollars,
      event_seq: run.eventSeq,
      event_hash: run.eventHash,
    },
  });
  tx.heads.delete(runId);
  const stone = yield* getTombstone(runId);
  if (stone === null) throw new Error(`Run ${runId} was deleted without a tombstone.`);
  return stone;
}

function* assertEnded(tx: Transaction, run: RunRow): SqlScript<void> {
  const { runId, status } = run;
  yield* assertFree(tx, run, (owner) => `is being worked on by ${owner} and cannot be deleted`);
  if (!ENDED_STATUSES.some((ended) => ended === status))
    throw new ConfigurationError(
      `Run ${runId} has not ended, it is ${status}: cancel it with \`pawl cancel ${runId}\`, then delete it. Nothing was deleted.`,
    );
  const move = status === "moved" ? moveOf(run) : null;
  const storeId = yield* readStoreId();
  if (move !== null && move.to === storeId) throw runMoved(runId, move, storeId);
}

function assertReason(runId: string, why: string): void {
  if (typeof why !== "string" || why.trim() === "")
    throw new ConfigurationError(`No reason is given for deleting run ${runId}: say in \`why\` why it goes.`);
  assertNameSize("reason", why);
}
