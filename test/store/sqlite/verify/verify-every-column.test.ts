// Every column of every table is changed, one at a time, and rows of every table are removed and added: verify names
// them, unless there is a reason here why nothing depends on the column.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PawlError, RunNotFoundError } from "../../../../src/core/errors.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { isOfRun } from "../../../../src/store/sql/covered-rows.ts";
import type { SqlScript } from "../../../../src/store/sql/script.ts";
import { requireRunKey } from "../../../../src/store/sql/tables/run-row.ts";
import { COVERED_TABLES, columnsOf } from "../../../../src/store/sql/verify/stored-rows.ts";
import { verify } from "../../../../src/store/sql/verify/verify.ts";
import { openProblems } from "../../../../src/store/sql/verify/verify-open.ts";
import { newAccess, newAuditEntry } from "../../../../src/testing/store/sample-access.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { newWebhook } from "../../../../src/testing/store/server/webhooks.ts";
import { PATIENCE } from "../../../patience.ts";
import { runScript } from "./run-script.ts";
import { editor, writeRuns } from "./tampered-store.ts";

const OF_NO_RUN =
  "the inbox of a worker belongs to no run: the run that it begins has an input of its own, which is verified";
const OF_STORE = "the id of the database belongs to no run: a bundle for another id is refused";
const OF_TOMBSTONE = "what is left of a deleted run: there are no events of that run to cover it any more";
const OF_SCHEDULE = "a schedule belongs to no run: the runs that it starts have inputs of their own";
const OF_LIVE = "workers are listed for people to see, and nothing is decided by it";
const OF_ACCESS = "who may use a server belongs to no run";
const OF_AUDIT = "what people did belongs to no run: `verifyAudit` checks it, by a chain of its own";
const OF_WEBHOOK = "who is told of a run belongs to no run: nothing of the run is decided by it";
const OF_OPENING = "the version and the schema itself decide, and are compared at each opening";
const OF_COLLECTION =
  "one that a receipt or an artifact names is noticed; one that only an older version of an artifact or a late outcome does may be collected";
const OF_RENEWAL =
  "a renewal changes it without an event: it decides only when another worker may take the run";

/** The tables whose rows belong to no run, each with the reason why no event covers them. */
const OF_NO_EVENT = {
  workers: OF_NO_RUN,
  identity: OF_STORE,
  migrations: OF_OPENING,
  tombstones: OF_TOMBSTONE,
  schedules: OF_SCHEDULE,
  firings: OF_SCHEDULE,
  live_workers: OF_LIVE,
  access_tokens: OF_ACCESS,
  audit_log: OF_AUDIT,
  webhooks: OF_WEBHOOK,
  webhook_feed: OF_WEBHOOK,
  webhook_deliveries: OF_WEBHOOK,
} as const;

/** The reason why a change of this column does not matter. */
const UNCOVERED: { readonly [place: string]: string } = {
  ...OF_NO_EVENT,
  "runs.lease_until": OF_RENEWAL,
  "runs.lease_ms": OF_RENEWAL,
  "blobs.created_at": "decides only when a blob is collected",
  "blobs.run_key": OF_COLLECTION,
  "blobs.blob_hash": OF_COLLECTION,
};
const REMOVED: { readonly [table: string]: string } = {
  ...OF_NO_EVENT,
  blobs: OF_COLLECTION,
};
const COPIED: { readonly [table: string]: string } = {
  ...OF_NO_EVENT,
  run_inputs: "a copy is about a run that does not exist",
};

type Column = { readonly name: string; readonly type: string; readonly isKey: boolean };
type Table = { readonly name: string; readonly columns: readonly Column[] };

const folder = mkdtempSync(join(tmpdir(), "pawl-columns-"));
const file = join(folder, "pawl.db");
let known: readonly string[] = [];
beforeAll(async () => {
  await writeRuns(file);
  const store = await openStore(`file:${file}`);
  const run = await SampleRun.create(store, "uncertain");
  await run.journaled(1, ["running", "running"]);
  await run.receipt(1, 1, { status: "failed", uncertain: true, errorCode: "reset" });
  await store.beginWork("anna", { runId: "uncertain", request: 1, createdAt: 1, deadline: null });
  await store.storeId();
  await store.grantAccess(newAccess("token", "Ann"));
  await store.recordAudit([newAuditEntry("Ann")]);
  await store.addWebhook(newWebhook("w-1"));
  await store.testWebhook("w-1", "test-1");
  known = (await store.listRuns()).map(({ runId }) => runId);
  await store.close();
  addRowsOfNoRun();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** No intent writes these yet, or none of a run that is here. */
function addRowsOfNoRun(): void {
  const database = editor(file);
  database.exec(`INSERT INTO tombstones VALUES ('gone', 'report', 'failed', 1, 2, 3, 'Ann', 'old', 4, 5, 6, X'07');
    INSERT INTO schedules VALUES ('nightly', '{}', NULL, '{}', 1, 2, 3, NULL, NULL, NULL);
    INSERT INTO firings VALUES ('nightly', 1, 2, 'skipped', NULL, 1, 'busy');
    INSERT INTO live_workers VALUES ('w-1', 'host', '{}', 1, 2)`);
  database.close();
}

function open(): DatabaseSync {
  const database = editor(file);
  onTestFinished(() => database.close());
  return database;
}

function runIdsIn(database: DatabaseSync): string[] {
  return database
    .prepare("SELECT run_id FROM runs ORDER BY run_key")
    .all()
    .map((row) => String(row.run_id));
}

function tablesOf(database: DatabaseSync): Table[] {
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  return names.map((row) => ({
    name: String(row.name),
    columns: database
      .prepare(`PRAGMA table_info(${String(row.name)})`)
      .all()
      .map((column) => ({
        name: String(column.name),
        type: String(column.type),
        isKey: Number(column.pk) > 0,
      })),
  }));
}

/** Some rows of a table, each by a condition that matches it alone. */
function rowsOf(
  database: DatabaseSync,
  { name, columns }: Table,
): [where: string, ...key: SQLInputValue[]][] {
  const key = columns.filter(({ isKey }) => isKey).map((column) => column.name);
  const rows = database.prepare(`SELECT ${key.join()} FROM ${name}`).all();
  // Among the events there must be some of committed turns.
  const stride = Math.ceil(rows.length / (name === "events" ? 25 : 3));
  return rows
    .filter((_, i) => i % stride === 0 || i === rows.length - 1)
    .map((row) => [key.map((column) => `${column} = ?`).join(" AND "), ...Object.values(row)]);
}

/** Another value of the same type. */
const OTHER: { readonly [type: string]: string } = {
  INTEGER: "coalesce(%, 0) + 1000003",
  TEXT: "coalesce(%, '') || 'x'",
  BLOB: "CAST(coalesce(%, X'') || X'01' AS BLOB)",
};

const other = ({ name, type }: Column) => OTHER[type]?.replace("%", name);

/** Names the rows of a run that are not what was written. */
type Look = (runId: string) => SqlScript<readonly { readonly row: string }[]>;

const verified: Look = function* (runId) {
  return (yield* verify(runId)).problems;
};

/** The check of a worker that claims a run. */
const lookFirst: Look = function* (runId) {
  return yield* openProblems({ key: yield* requireRunKey(runId), runId });
};

/** The tables with rows of the run as a whole, and the columns of them that only `verify` compares. */
const OF_RUN: readonly string[] = [...COVERED_TABLES.filter(isOfRun), "events", "runs"];
const OF_TURNS = "an event of a committed turn is compared with nothing that a decision depends on";
const LEFT_TO_VERIFY: { readonly [place: string]: string } = {
  "events.created_at": OF_TURNS,
  "events.data": OF_TURNS,
  "events.hash": OF_TURNS,
  "events.of_run": OF_TURNS,
  "events.type": OF_TURNS,
  "runs.lease_ms": OF_RENEWAL,
  "runs.lease_until": OF_RENEWAL,
  "runs.updated_at": "is shown, and no decision depends on it",
};

/** The number of rows that are named after a change, which is rolled back; in all runs, or until there are enough. */
function namedAfter(
  database: DatabaseSync,
  sql: string,
  values: readonly SQLInputValue[],
  enough: (changed: number) => number,
  look: Look = verified,
): { readonly changed: number; readonly named: number } {
  database.exec("BEGIN");
  try {
    const changed = Number(database.prepare(sql).run(...values).changes);
    let named = 0;
    for (const runId of new Set([...known, ...runIdsIn(database)]))
      if (named < enough(changed)) named += namedIn(database, runId, look);
    return { changed, named };
  } finally {
    database.exec("ROLLBACK");
  }
}

/** A missing run, or an unreadable row, counts as noticed. */
function namedIn(database: DatabaseSync, runId: string, look: Look): number {
  try {
    return new Set(runScript(database, look(runId)).map(({ row }) => row)).size;
  } catch (error) {
    if (PawlError.isInstance(error)) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/** True if one changed row is noticed. */
function isNoticed(
  database: DatabaseSync,
  sql: string,
  values: readonly SQLInputValue[],
  look: Look = verified,
): boolean {
  const { changed, named } = namedAfter(database, sql, values, () => 1, look);
  expect([sql, changed]).toEqual([sql, 1]);
  return named > 0;
}

const mayBeMissed = (place: string) => place in UNCOVERED || place.replace(/\..*/, "") in UNCOVERED;

describe("verify notices", PATIENCE, () => {
  it("nothing if nothing was changed, and every table has rows", () => {
    const database = open();
    for (const runId of runIdsIn(database))
      expect([runId, runScript(database, verify(runId)).problems]).toEqual([runId, []]);
    const empty = tablesOf(database).filter((table) => rowsOf(database, table).length === 0);
    expect(empty.map(({ name }) => name)).toEqual([]);
  });

  it("another value in any column: every changed row is named", () => {
    const database = open();
    const [missed, seen]: [string[], Set<string>] = [[], new Set()];
    for (const table of tablesOf(database))
      for (const column of table.columns) {
        const place = `${table.name}.${column.name}`;
        seen.add(place);
        if (column.isKey) continue;
        const change = `UPDATE ${table.name} SET ${column.name} = ${other(column)}`;
        const { changed, named } = namedAfter(database, change, [], (rows) => rows);
        if (named < changed) missed.push(place);
      }
    expect(missed.filter((place) => !mayBeMissed(place))).toEqual([]);
    expect(missed.filter((place) => place.startsWith("runs."))).toEqual([
      "runs.lease_until",
      "runs.lease_ms",
    ]);
    for (const table of COVERED_TABLES)
      for (const column of columnsOf(table)) expect(seen).toContain(`${table}.${column}`);
  });

  it("another key of a row", () => {
    const database = open();
    const missed = new Set<string>();
    for (const table of tablesOf(database))
      for (const column of table.columns.filter(({ isKey }) => isKey))
        for (const [where, ...key] of rowsOf(database, table)) {
          const change = `UPDATE ${table.name} SET ${column.name} = ${other(column)} WHERE ${where}`;
          if (!isNoticed(database, change, key)) missed.add(`${table.name}.${column.name}`);
        }
    expect([...missed].filter((place) => !mayBeMissed(place))).toEqual([]);
  });

  it("a missing row", () => {
    const database = open();
    const missed = new Set<string>();
    for (const table of tablesOf(database))
      for (const [where, ...key] of rowsOf(database, table))
        if (!isNoticed(database, `DELETE FROM ${table.name} WHERE ${where}`, key)) missed.add(table.name);
    expect([...missed].filter((table) => !(table in REMOVED))).toEqual([]);
  });

  it("an added row", () => {
    const database = open();
    const missed = new Set<string>();
    for (const table of tablesOf(database)) {
      const keys = ["run_id", "idempotency_key", "step_path", "call_index", "message_id", "hash", "batch"];
      const unique = new Set(keys);
      const last = table.columns.findLast(({ isKey }) => isKey);
      const values = table.columns.map((column) =>
        column.name === last?.name || unique.has(column.name) ? other(column) : column.name,
      );
      const copy = `INSERT INTO ${table.name} SELECT ${values.join()} FROM ${table.name} WHERE`;
      for (const [where, ...key] of rowsOf(database, table))
        if (!isNoticed(database, `${copy} ${where}`, key)) missed.add(table.name);
    }
    expect([...missed].filter((table) => !(table in COPIED))).toEqual([]);
  });

  it("a run that is missing", () => {
    const database = open();
    database.exec("BEGIN; DELETE FROM runs WHERE run_id = 'ledger'");
    expect(() => runScript(database, verify("ledger"))).toThrow(RunNotFoundError);
    database.exec("ROLLBACK");
  });
});

describe("a worker that claims a run notices", PATIENCE, () => {
  it("nothing if nothing was changed", () => {
    const database = open();
    for (const runId of runIdsIn(database))
      expect([runId, runScript(database, lookFirst(runId))]).toEqual([runId, []]);
  });

  it("another value in any column of the rows of the run as a whole, and a missing one of them", () => {
    const database = open();
    const missed = new Set<string>();
    for (const table of tablesOf(database).filter(({ name }) => OF_RUN.includes(name)))
      for (const [where, ...key] of rowsOf(database, table)) {
        for (const column of table.columns) {
          const change = `UPDATE ${table.name} SET ${column.name} = ${other(column)} WHERE ${where}`;
          if (!isNoticed(database, change, key, lookFirst)) missed.add(`${table.name}.${column.name}`);
        }
        if (!isNoticed(database, `DELETE FROM ${table.name} WHERE ${where}`, key, lookFirst))
          missed.add(table.name);
      }
    expect([...missed].sort()).toEqual(Object.keys(LEFT_TO_VERIFY));
  });
});
