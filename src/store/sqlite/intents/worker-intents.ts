import { canonicalJson } from "../../../core/canonical-json.ts";
import type { WorkerRequest, WorkRecord } from "../../store.ts";
import type { Database } from "../database.ts";
import { parseJson } from "../tables/run-row.ts";

export function beginWork(database: Database, worker: string, request: WorkerRequest): WorkerRequest {
  const known = findWork(database, worker);
  if (known !== null && known.completedAt === null) {
    const { completedAt: _, ...held } = known;
    return held;
  }
  database.run(
    "INSERT OR REPLACE INTO workers VALUES (?, ?, ?, ?, ?, NULL)",
    worker,
    request.runId,
    canonicalJson(request.request),
    request.createdAt,
    request.deadline,
  );
  return request;
}

export function completeWork(database: Database, now: number, worker: string, runId: string): void {
  database.run(
    "UPDATE workers SET completed_at = ? WHERE worker_id = ? AND run_id = ? AND completed_at IS NULL",
    now,
    worker,
    runId,
  );
}

export function findWork(database: Database, worker: string): WorkRecord | null {
  const row = database.get("SELECT * FROM workers WHERE worker_id = ?", worker);
  if (row === null) return null;
  return {
    runId: row.text("run_id"),
    request: parseJson(row.text("request")),
    createdAt: row.int("created_at"),
    deadline: row.optionalInt("deadline_at"),
    completedAt: row.optionalInt("completed_at"),
  };
}
