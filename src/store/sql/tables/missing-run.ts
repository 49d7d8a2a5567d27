import type { RunDeletedError, RunNotFoundError } from "../../../core/errors.ts";
import { missingRunError, runDeleted } from "../../../core/run/missing-run.ts";
import type { Tombstone } from "../../store.ts";
import type { Row } from "../row.ts";
import { get, type SqlScript } from "../script.ts";
import { RUN_STATUSES } from "../stored-words.ts";
import { personAt } from "./person-text.ts";

/** What is left of a deleted run; null if there was none of this id. */
export function* getTombstone(runId: string): SqlScript<Tombstone | null> {
  const row = yield* get("SELECT * FROM tombstones WHERE run_id = ?", runId);
  return row === null ? null : tombstone(row);
}

export function tombstone(row: Row): Tombstone {
  const { name, authenticated } = personAt(row.text("deleted_by"), row.int("deleted_at"));
  return {
    runId: row.text("run_id"),
    pipeline: row.text("pipeline"),
    status: row.oneOf("status", RUN_STATUSES),
    createdAt: row.int("created_at"),
    endedAt: row.int("ended_at"),
    deletedAt: row.int("deleted_at"),
    deletedBy: name,
    authenticated,
    why: row.text("why"),
    charged: { tokens: row.int("charged_tokens"), microDollars: row.int("charged_micro_dollars") },
    events: row.int("event_seq"),
    eventHash: row.hex("event_hash"),
  };
}

/** The error for a run that is not there: it was deleted, or it never was. */
export function* missingRun(runId: string): SqlScript<RunDeletedError | RunNotFoundError> {
  return missingRunError(runId, yield* getTombstone(runId));
}

/** The id of a deleted run is not used again. */
export function* assertNotDeleted(runId: string): SqlScript<void> {
  const stone = yield* getTombstone(runId);
  if (stone !== null) throw runDeleted(stone);
}
