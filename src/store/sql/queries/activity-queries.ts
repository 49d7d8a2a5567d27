import { waitId } from "../../../core/wait.ts";
import type { ActivityQuery, QueueActivity } from "../../store.ts";
import { all, type SqlScript } from "../script.ts";
import { WAIT_KINDS } from "../stored-words.ts";
import { countReady, HEARD_AT } from "./queue-queries.ts";
import { inScope } from "./run-scope.ts";
import { allOf, EVERYTHING } from "./sql-condition.ts";

/** More than any store has; the limit makes SQLite read the index of the runs that sleep, and not the runs by queue. */
const ANY_NUMBER = Number.MAX_SAFE_INTEGER;

// Each query has a place for the conditions of a scope.

const sleeping = (scope: string) => `SELECT queue, count(*) AS sleeping, min(wake_at) AS next_at
    FROM (SELECT queue, wake_at FROM runs WHERE wake_at IS NOT NULL AND ${scope} ORDER BY wake_at LIMIT ?) AS sleepers
   GROUP BY queue ORDER BY queue`;

const running = (scope: string) =>
  `SELECT queue, count(*) AS running FROM runs WHERE status = 'running' AND ${scope} GROUP BY queue ORDER BY queue`;

const held = (
  scope: string,
) => `SELECT run_id, pipeline, queue, runs.owner, started_at, lease_ms, ${HEARD_AT} AS heard_at
    FROM runs JOIN attempts ON attempts.run_key = runs.run_key AND attempts.epoch = runs.epoch
   WHERE status = 'running' AND ${scope} ORDER BY heard_at, run_id LIMIT ?`;

// A run that was moved away keeps its open waits, and nobody answers them here.
const OPEN =
  "waits.status = 'open' AND waits.run_key NOT IN (SELECT run_key FROM runs WHERE status = 'moved')";
const waitsByKind = (scope: string) => `SELECT kind, count(*) AS open, min(created_at) AS oldest FROM waits
   WHERE ${OPEN} ${scope === EVERYTHING ? "" : `AND EXISTS (SELECT 1 FROM runs WHERE runs.run_key = waits.run_key AND ${scope})`}
   GROUP BY kind ORDER BY kind`;
const firstWaits = (
  scope: string,
) => `SELECT run_id, wait_index, kind, waits.created_at FROM waits CROSS JOIN runs
   WHERE ${OPEN} AND kind <> 'time' AND kind <> 'message' AND runs.run_key = waits.run_key AND ${scope}
   ORDER BY waits.created_at, run_id, wait_index LIMIT ?`;

/** Counts, from indexes alone, and at most `limit` of each list. */
export function* readActivity(now: number, { limit, ...given }: ActivityQuery): SqlScript<QueueActivity> {
  const since = (at: number) => Math.max(0, now - at);
  const scope = allOf(inScope(given));
  const sleepers = yield* all(sleeping(scope.text), ...scope.values, ANY_NUMBER);
  const runners = yield* all(running(scope.text), ...scope.values);
  const holders = yield* all(held(scope.text), ...scope.values, limit);
  const waits = yield* all(waitsByKind(scope.text), ...scope.values);
  const first = yield* all(firstWaits(scope.text), ...scope.values, limit);
  return {
    ready: yield* countReady(now, given),
    sleeping: sleepers.map((row) => ({
      queue: row.text("queue"),
      sleeping: row.int("sleeping"),
      nextInMs: row.int("next_at") - now,
    })),
    running: runners.map((row) => ({ queue: row.text("queue"), running: row.int("running") })),
    held: holders.map((row) => ({
      runId: row.text("run_id"),
      pipeline: row.text("pipeline"),
      queue: row.text("queue"),
      owner: row.optionalText("owner"),
      heldMs: since(row.int("started_at")),
      silentMs: since(row.int("heard_at")),
      leaseMs: row.int("lease_ms"),
    })),
    waits: waits.map((row) => ({
      kind: row.oneOf("kind", WAIT_KINDS),
      open: row.int("open"),
      oldestMs: since(row.int("oldest")),
    })),
    firstWaits: first.map((row) => ({
      waitId: waitId(row.text("run_id"), row.int("wait_index")),
      runId: row.text("run_id"),
      kind: row.oneOf("kind", WAIT_KINDS),
      openMs: since(row.int("created_at")),
    })),
  };
}
