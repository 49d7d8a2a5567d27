import { hash } from "node:crypto";
import type { Leases } from "../sql/leases.ts";
import type { PlanContext } from "../sql/planned/plan.ts";
import type { RunHead } from "../sql/run-head.ts";
import { get, known, type SqlScript } from "../sql/script.ts";
import type { RunKey } from "../sql/table-list.ts";
import type { OwnerSession } from "./owner-session.ts";

/** What the intents of a process share. */
export function planContext(leases: Leases, session: OwnerSession, heads: Map<string, RunHead>): PlanContext {
  return {
    leases,
    heads,
    newRunKey: (runId) => known(runKeyOf(runId)),
    mayTakeFrom: (owner) => mayTakeFrom(session, owner),
    lockRuns,
    lockName,
  };
}

/** Made from the id, so that the same id is the same row wherever it is created. */
export function runKeyOf(runId: string): string {
  const hex = hash("sha256", runId, "hex").slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function* lockRuns(keys: readonly RunKey[]): SqlScript<boolean> {
  for (const key of keys.map(String).sort())
    yield* get("SELECT 1 AS found FROM runs WHERE run_key = ? FOR UPDATE", key);
  return true;
}

/** Under a number of its own, by the name of the schema and this one: other locks of the database are not in its way. */
function* lockName(name: string): SqlScript<void> {
  yield* get(
    "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || ?, 0)) IS NULL AS locked",
    name,
  );
}

/** Shared with other claims of the owner's runs, and not with the owner itself. */
function* mayTakeFrom(session: OwnerSession, owner: string): SqlScript<boolean> {
  const lock = session.lockOf(owner);
  if (lock === null) return true;
  const row = yield* get("SELECT pg_try_advisory_xact_lock_shared(?::int, ?::int) AS taken", ...lock);
  return row?.flag("taken") === true;
}
