// Which statements are about one run, by the plan that SQLite makes: each table is searched by the key of the run first.

import { Database } from "../../../src/store/sqlite/database.ts";
import { migrate } from "../../../src/store/sqlite/migrate.ts";

/** Statements that concern several runs, each with its reason. None of them is part of a turn. */
export const FAN_OUTS: readonly { readonly text: RegExp; readonly why: string }[] = [
  {
    text: /^SELECT (?:(?:runs|label)\.created_at AS at, runs\.run_id AS id|at, id) FROM .*ORDER BY (?:(?:runs|label)\.created_at|at) DESC/,
    why: "A list for people.",
  },
  {
    text: /^SELECT count\(\*\) AS n FROM \(SELECT runs\.run_key FROM runs WHERE runs\.run_id >= \?/,
    why: "A list for people, of the runs whose ids begin with a text.",
  },
  {
    text: /^SELECT runs\.\*.* WHERE pipeline = \? AND input_hash = \?/,
    why: "A run that was started without an id is looked for by its input, before it begins.",
  },
  {
    text: /^SELECT (?:status|\d+ AS place), .*count\(\*\) AS n FROM |^SELECT count\(\*\) AS n FROM runs WHERE status = 'running' AND lease_until/,
    why: "The runs of each status are counted, for people.",
  },
  {
    text: /^SELECT bucket, .*CAST\(sum\(charged_tokens\) AS BIGINT\)/,
    why: "What was spent over time, for people.",
  },
  {
    text: /^SELECT runs\.run_id(?:, runs\.limit_tokens, .*)? FROM runs WHERE runs\.(?:created_at >= \?|status IN)/,
    why: "The dearest runs and those near a budget, for people.",
  },
  {
    text: /^SELECT runs\.run_id, runs\.pipeline, runs\.ended_at, runs\.error, .* WHERE runs\.status = 'failed'/,
    why: "The errors of failed runs, for people.",
  },
  {
    text: /^SELECT (?:count\(\*\) AS n FROM \(SELECT receipts\.run_key|tool_calls\.tool_name, count\(DISTINCT receipts\.run_key\) AS n) FROM receipts /,
    why: "The failed calls of all runs, for people.",
  },
  {
    text: /^SELECT (?:run_id, count\(\*\) AS events|rowid AS place, hash) FROM/,
    why: "The feed of changes, for people.",
  },
  {
    text: /^SELECT waits\.\*.* WHERE waits\.status = '(?:open|answered)'/,
    why: "The open questions and what was answered, for people.",
  },
  {
    text: /^SELECT run_id, epoch FROM runs WHERE status = 'running' AND owner = \?/,
    why: "Closing a store.",
  },
  { text: /^SELECT run_key, blob_hash, size, updated_at FROM runs JOIN blobs/, why: "`pawl gc`." },
  {
    text: /^SELECT max\(run_key\) AS n FROM runs$/,
    why: "SQLite numbers runs; PostgreSQL makes a key of the id.",
  },
  {
    text: /^SELECT count\(\*\) AS n FROM runs WHERE status = 'running' AND run_key <> \?/,
    why: "The limit of a claim counts the claimed runs of a queue, before a run begins or continues.",
  },
  {
    text: /^SELECT DISTINCT "table" AS child, parent FROM pragma_foreign_key_check/,
    why: "All of a file is checked, for people.",
  },
  {
    text: /^SELECT run_id, priority, ready_at, concurrency_key, worker_version FROM runs WHERE status = 'queued'/,
    why: "A worker looks for its next run.",
  },
  {
    text: /^SELECT run_id, pipeline, status, ended_at FROM runs WHERE ended_at IS NOT NULL/,
    why: "`pawl gc --runs`.",
  },
  { text: /^SELECT \* FROM tombstones (?:WHERE .*)?ORDER BY deleted_at/, why: "A list for people." },
  {
    text: /^SELECT run_id, wake_at FROM runs WHERE wake_at IS NOT NULL/,
    why: "A worker looks for the run that the clock wakes next.",
  },
  {
    text: /^SELECT run_id, pipeline, queue, owner, .* FROM runs WHERE status = 'running'/,
    why: "A worker looks for runs of dead ones.",
  },
  {
    text: /^SELECT run_id FROM addresses JOIN runs USING \(run_key\) WHERE address = \?/,
    why: "A sender knows the address of a run and not its id; an address is given to one run.",
  },
  {
    text: /^SELECT queue, (?:pipeline, )?count\(\*\) AS (?:ready|running|sleeping)/,
    why: "What waits in the queues, for people and metrics.",
  },
  {
    text: /^SELECT run_id, pipeline, queue, runs\.owner, started_at, .* FROM runs JOIN attempts/,
    why: "The runs that are held, for people.",
  },
  {
    text: /^SELECT (?:kind, count\(\*\) AS open|run_id, wait_index, kind, waits\.created_at).* FROM waits /,
    why: "What waits for whom, for people.",
  },
  { text: /^SELECT (?:\*|worker_id) FROM live_workers /, why: "The list of workers, for people." },
  {
    text: /^SELECT (?:\*|name|name, next_at|planned_at) FROM (?:schedules|firings)\b/,
    why: "Schedules belong to no run.",
  },
  {
    text: /^SELECT .* FROM webhook/,
    why: "Webhooks belong to no run.",
  },
  {
    text: /^SELECT (?:place|run_id), (?:run_id, )?seq, .*type, data|^SELECT run_id, (?:updated_at FROM runs WHERE run_id >= \?|pipeline, event_seq, .* FROM runs WHERE status = 'running'|wait_index, kind FROM waits )/,
    why: "The log of all runs, for webhooks.",
  },
  { text: /^SELECT .* FROM (?:access_tokens|audit_log)\b/, why: "People and their acts belong to no run." },
  {
    text: /^SELECT .* FROM runs WHERE status NOT IN \('succeeded', 'failed', 'cancelled', 'moved'\) AND run_id >= \?/,
    why: "The unfinished runs of a schedule, which are few: before it fires, and before one of them is claimed.",
  },
];

/**
 * The intents that may ask such a question: those that concern no single run, begin one, or claim one under a limit that
 * it shares with others.
 */
export const FAN_OUT_INTENTS: readonly string[] = [
  "addWebhook",
  "beginArrival",
  "claimDeliveries",
  "claimRun",
  "collectBlobs",
  "configureSchedules",
  "createRun",
  "endDelivery",
  "endSession",
  "enqueueRun",
  "fireNow",
  "fireSchedule",
  "forkRun",
  "goodbye",
  "grantAccess",
  "noteAccessUse",
  "pauseSchedule",
  "recordAudit",
  "recordDeliveries",
  "redeemCode",
  "releaseRun",
  "removeWebhook",
  "reportWorker",
  "resumeSchedule",
  "revokeAccess",
  "rotateWebhook",
  "sendAgain",
  "sendMessage",
  "storeArrivingRows",
  "testWebhook",
  "trimAudit",
];

const database = Database.open(":memory:");
migrate(database, 0);

/** What a query reads without naming a run (or, for requests of workers, a worker). */
export function fanOutOf(text: string): readonly string[] {
  const values = [...text.matchAll(/\?/g)].map(() => null);
  return database
    .all(`EXPLAIN QUERY PLAN ${text}`, ...values)
    .map((row) => row.text("detail"))
    .filter((detail) => /^(?:SCAN|SEARCH) (?!CONSTANT ROW)/.test(detail) && !isSubquery(detail, text))
    .filter((detail) => !/\((?:run_key|rowid|run_id|worker_id)=\?/.test(detail));
}

/** A step of a plan that reads the rows of a subquery, which has steps of its own. */
function isSubquery(detail: string, text: string): boolean {
  const name = /^SCAN (\(?\w+)/.exec(detail)?.[1];
  if (name === undefined) return false;
  return name.startsWith("(") || new RegExp(`\\)\\s+(?:AS\\s+)?${name}\\b`).test(text);
}

/** A text as one line. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
