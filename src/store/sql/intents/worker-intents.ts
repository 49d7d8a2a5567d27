import { canonicalJson } from "../../../core/canonical-json.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import type { WorkerRequest, WorkRecord } from "../../store.ts";
import { get, type SqlScript } from "../script.ts";
import { parseJson } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";

export function* beginWork(
  tx: Transaction,
  worker: string,
  request: WorkerRequest,
): SqlScript<WorkerRequest> {
  assertNameSize("worker's name", worker);
  // Of two processes that ask for the same worker, the second one sees the request of the first.
  yield* tx.lockName(`work of ${worker}`);
  const known = yield* findWork(worker);
  if (known !== null && known.completedAt === null) {
    const { completedAt: _, ...held } = known;
    return held;
  }
  tx.write({
    kind: "upsert",
    table: "workers",
    row: {
      worker_id: worker,
      run_id: request.runId,
      request: canonicalJson(request.request),
      created_at: request.createdAt,
      deadline_at: request.deadline,
      completed_at: null,
    },
  });
  return request;
}

export function* completeWork(tx: Transaction, worker: string, runId: string): SqlScript<void> {
  const known = yield* findWork(worker);
  if (known === null || known.runId !== runId || known.completedAt !== null) return;
  tx.write({
    kind: "update",
    table: "workers",
    key: { worker_id: worker },
    set: { completed_at: tx.now },
  });
}

export function* findWork(worker: string): SqlScript<WorkRecord | null> {
  const row = yield* get("SELECT * FROM workers WHERE worker_id = ?", worker);
  if (row === null) return null;
  return {
    runId: row.text("run_id"),
    request: parseJson(row.text("request")),
    createdAt: row.int("created_at"),
    deadline: row.optionalInt("deadline_at"),
    completedAt: row.optionalInt("completed_at"),
  };
}
