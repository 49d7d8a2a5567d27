import type { EndedQuery, EndedRun, Tombstone, TombstoneRange } from "../../store.ts";
import { all, type SqlScript, type SqlValue } from "../script.ts";
import { ENDED_STATUSES } from "../stored-words.ts";
import { tombstone } from "../tables/missing-run.ts";

export function* listEndedRuns(query: EndedQuery): SqlScript<EndedRun[]> {
  const { endedBefore, status, pipeline, after, limit } = query;
  const conditions = ["ended_at IS NOT NULL", "ended_at < ?"];
  const values: SqlValue[] = [endedBefore];
  if (after !== undefined) {
    conditions.push("(ended_at, run_id) > (?, ?)");
    values.push(after.endedAt, after.runId);
  }
  conditions.push(status === undefined ? "status <> 'moved'" : "status || '' = ?");
  if (status !== undefined) values.push(status);
  if (pipeline !== undefined) {
    conditions.push("pipeline = ?");
    values.push(pipeline);
  }
  const rows = yield* all(
    `SELECT run_id, pipeline, status, ended_at FROM runs WHERE ${conditions.join(" AND ")}
      ORDER BY ended_at, run_id LIMIT ?`,
    ...values,
    limit,
  );
  return rows.map((row) => ({
    runId: row.text("run_id"),
    pipeline: row.text("pipeline"),
    status: row.oneOf("status", ENDED_STATUSES),
    endedAt: row.int("ended_at"),
  }));
}

const TOMBSTONES = "SELECT * FROM tombstones ORDER BY deleted_at DESC, run_id DESC LIMIT ?";
const LATER_TOMBSTONES = `SELECT * FROM tombstones WHERE (deleted_at, run_id) < (?, ?)
   ORDER BY deleted_at DESC, run_id DESC LIMIT ?`;

export function* listTombstones({ after, limit = 100 }: TombstoneRange): SqlScript<Tombstone[]> {
  const rows =
    after === undefined
      ? yield* all(TOMBSTONES, limit)
      : yield* all(LATER_TOMBSTONES, after.deletedAt, after.runId, limit);
  return rows.map(tombstone);
}
