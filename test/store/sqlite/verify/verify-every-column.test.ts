// Every column of every table is changed, one at a time, and rows of every table are removed and added: verify names
// them, unless there is a reason here why nothing depends on the column.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQLInputValue } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PawlError, StoreUnusableError } from "../../../../src/core/errors.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { Database } from "../../../../src/store/sqlite/database.ts";
import { verify } from "../../../../src/store/sqlite/verify/verify.ts";
import { openProblems } from "../../../../src/store/sqlite/verify/verify-open.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { PATIENCE } from "../../../patience.ts";
import { writeRuns } from "./tampered-store.ts";

const OF_NO_RUN =
  "the inbox of a worker belongs to no run: the run that it begins has an input of its own, which is verified";
const OF_OPENING = "the version and the schema itself decide, and are compared at each opening";
const OF_COLLECTION =
  "one that a receipt or an artifact names is noticed; one that only an older version of an artifact or a late outcome does may be collected";

/** The reason why a change of this column does not matter. */
const UNCOVERED: { readonly [place: string]: string } = {
  workers: OF_NO_RUN,
  migrations: OF_OPENING,
  "blobs.blob_no": "the number of a row that nothing refers to",
  "blobs.created_at": "decides only when a blob is collected that no run refers to",
  "blobs.blob_hash": OF_COLLECTION,
  blob_references: OF_COLLECTION,
};
const REMOVED: { readonly [table: string]: string } = {
  workers: OF_NO_RUN,
  migrations: OF_OPENING,
  blobs: OF_COLLECTION,
  blob_references: OF_COLLECTION,
};
const COPIED: { readonly [table: string]: string } = {
  workers: OF_NO_RUN,
  migrations: OF_OPENING,
  blobs: "a blob that no run refers to is never read",
  blob_references: "lets a run keep a blob that none of its rows names",
  ...Object.fromEntries(
    ["applied_calls", "granular_states", "receipts", "run_inputs", "tool_calls", "uncertain_calls"].map(
      (table) => [
        table,
        "a copy is about a run, step, turn or call that does not exist; one about something that exists is tested below",
      ],
    ),
  ),
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
  known = (await store.listRuns()).map(({ runId }) => runId);
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

function open(): Database {
  const database = Database.open(file);
  onTestFinished(() => database.vanish());
  database.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
  return database;
}

function runIdsIn(database: Database): string[] {
  return database.all("SELECT run_id FROM runs ORDER BY run_no").map((row) => row.text("run_id"));
}

function tablesOf(database: Database): Table[] {
  const names = database.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  return names.map((row) => ({
    name: row.text("name"),
    columns: database.all(`PRAGMA table_info(${row.text("name")})`).map((column) => ({
      name: column.text("name"),
      type: column.text("type"),
      isKey: column.int("pk") > 0,
    })),
  }));
}

/** Some rows of a table, each by a condition that matches it alone. */
function rowsOf(database: Database, { name, columns }: Table): [where: string, ...key: SQLInputValue[]][] {
  const key = columns.filter(({ isKey }) => isKey).map((column) => column.name);
  const rows = database.all(`SELECT ${key.join()} FROM ${name}`);
  const stride = Math.ceil(rows.length / 3);
  return rows
    .filter((_, i) => i % stride === 0 || i === rows.length - 1)
    .map((row) => [
      key.map((column) => `${column} = ?`).join(" AND "),
      ...row.columns().map((column) => row.value(column)),
    ]);
}

/** Another value of the same type. */
const OTHER: { readonly [type: string]: string } = {
  INTEGER: "coalesce(%, 0) + 1000003",
  TEXT: "coalesce(%, '') || 'x'",
  BLOB: "CAST(coalesce(%, X'') || X'01' AS BLOB)",
};

type Look = (database: Database, runId: string) => { readonly problems: readonly { readonly row: string }[] };

/** The check of a worker that claims a run. */
const lookFirst: Look = (database, runId) => {
  const runNo = database.get("SELECT run_no FROM runs WHERE run_id = ?", runId)?.int("run_no");
  if (runNo === undefined) throw new StoreUnusableError(`Run ${runId} is gone.`, { reason: "changed_rows" });
  return { problems: openProblems(database, { runNo, runId }) };
};

/** The tables with rows of the run as a whole, and the columns of them that only `verify` compares. */
const OF_RUN = [
  "artifacts",
  "attempts",
  "events",
  "fingerprints",
  "lineages",
  "loop_decisions",
  "run_inputs",
  "run_steps",
  "runs",
  "uncertain_calls",
  "waits",
];
const OF_TURNS = "an event of a committed turn is compared with nothing that a decision depends on";
const LEFT_TO_VERIFY: { readonly [place: string]: string } = {
  "events.created_at": OF_TURNS,
  "events.data": OF_TURNS,
  "events.hash": OF_TURNS,
  "runs.updated_at": "is shown, and no decision depends on it",
};

/** The number of rows that are named after a change, which is rolled back; in all runs, or until there are enough. */
function namedAfter(
  database: Database,
  sql: string,
  values: readonly SQLInputValue[],
  enough: (changed: number) => number,
  look: Look = verify,
): { readonly changed: number; readonly named: number } {
  database.exec("BEGIN");
  try {
    const changed = database.run(sql, ...values);
    let named = 0;
    for (const runId of new Set([...known, ...runIdsIn(database)]))
      if (named < enough(changed)) named += namedIn(database, runId, look);
    return { changed, named };
  } finally {
    database.exec("ROLLBACK");
  }
}

/** A missing run, or an unreadable row, counts as noticed. */
function namedIn(database: Database, runId: string, look: Look): number {
  try {
    return new Set(look(database, runId).problems.map(({ row }) => row)).size;
  } catch (error) {
    if (PawlError.isInstance(error) || error instanceof SyntaxError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/** True if one changed row is noticed. */
function isNoticed(
  database: Database,
  sql: string,
  values: readonly SQLInputValue[],
  look: Look = verify,
): boolean {
  const { changed, named } = namedAfter(database, sql, values, () => 1, look);
  expect([sql, changed]).toEqual([sql, 1]);
  return named > 0;
}

describe("verify notices", PATIENCE, () => {
  it("nothing if nothing was changed, and every table has rows", () => {
    const database = open();
    for (const runId of runIdsIn(database))
      expect([runId, verify(database, runId).problems]).toEqual([runId, []]);
    const empty = tablesOf(database).filter((table) => rowsOf(database, table).length === 0);
    expect(empty.map(({ name }) => name)).toEqual([]);
  });

  it("another value in any column: every changed row is named", () => {
    const database = open();
    const [missed, seen]: [string[], string[]] = [[], []];
    for (const table of tablesOf(database))
      for (const { name, type, isKey } of table.columns) {
        if (isKey) continue;
        const change = `UPDATE ${table.name} SET ${name} = ${OTHER[type]?.replace("%", name)}`;
        const { changed, named } = namedAfter(database, change, [], (rows) => rows);
        (named < changed ? missed : seen).push(`${table.name}.${name}`);
      }
    expect(seen.length).toBeGreaterThan(120);
    const known = (place: string) => place in UNCOVERED || place.replace(/\..*/, "") in UNCOVERED;
    expect(missed.filter((place) => !known(place))).toEqual([]);
  });

  it("another key of a row", () => {
    const database = open();
    const missed = new Set<string>();
    for (const table of tablesOf(database))
      for (const { name, type } of table.columns.filter(({ isKey }) => isKey))
        for (const [where, ...key] of rowsOf(database, table)) {
          const change = `UPDATE ${table.name} SET ${name} = ${OTHER[type]?.replace("%", name)} WHERE ${where}`;
          if (!isNoticed(database, change, key)) missed.add(`${table.name}.${name}`);
        }
    const known = (place: string) => place in UNCOVERED || place.replace(/\..*/, "") in UNCOVERED;
    expect([...missed].filter((place) => !known(place))).toEqual([]);
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
      const unique = new Set(["run_id", "idempotency_key", "blob_hash", "step_path", "call_index"]);
      const last = table.columns.findLast(({ isKey }) => isKey);
      const values = table.columns.map(({ name, type }) =>
        name === last?.name || unique.has(name) ? OTHER[type]?.replace("%", name) : name,
      );
      const copy = `INSERT INTO ${table.name} SELECT ${values.join()} FROM ${table.name} WHERE`;
      for (const [where, ...key] of rowsOf(database, table))
        if (!isNoticed(database, `${copy} ${where}`, key)) missed.add(table.name);
    }
    expect([...missed].filter((table) => !(table in COPIED))).toEqual([]);
  });

  it.for([
    [
      "a receipt",
      "receipts",
      "INSERT INTO receipts SELECT % + 1, status, 1, 1, NULL, 0, 'tool', NULL, NULL, NULL, NULL, output, NULL FROM receipts WHERE call_no = %",
    ],
    [
      "an uncertain call",
      "uncertain_calls",
      "INSERT INTO uncertain_calls SELECT run_no, X'01', call_no + 1 FROM uncertain_calls",
    ],
    [
      "the mark that the session has applied a call",
      "applied_calls",
      "INSERT INTO applied_calls SELECT run_no, call_no + 1, 1, 0 FROM uncertain_calls",
    ],
    [
      "a call of a turn",
      "tool_calls",
      `INSERT INTO tool_calls SELECT call_no + 2, step_no, turn_index, 3, created_at, NULL, NULL, 'local', 'pay', 'external',
              'opaque', X'01', 1, X'01', 'prepared', 0, 0, NULL FROM tool_calls WHERE call_no = %`,
    ],
    [
      "turns of a step of code",
      "granular_states",
      `INSERT INTO granular_states (step_no, turn_index, is_complete, messages, tokens, fingerprint)
       SELECT step_no, 1, 1, 1, 1, X'01' FROM run_steps WHERE step_path = 'code' LIMIT 1`,
    ],
  ] as const)("an added row: %s", ([, table, sql]) => {
    const database = open();
    const call = "(SELECT call_no FROM uncertain_calls)";
    // A call outside of its turn's count does not exist: the count is changed with it.
    const count = "UPDATE turns SET calls = 3 WHERE first_call_no = (SELECT call_no FROM uncertain_calls)";
    database.exec("BEGIN");
    expect(database.run(sql.replaceAll("%", call))).toBe(1);
    if (table === "tool_calls") expect(database.run(count)).toBe(1);
    expect(runIdsIn(database).some((runId) => namedIn(database, runId, verify) > 0)).toBe(true);
    database.exec("ROLLBACK");
  });
});

describe("a worker that claims a run notices", PATIENCE, () => {
  it("nothing if nothing was changed", () => {
    const database = open();
    for (const runId of runIdsIn(database))
      expect([runId, lookFirst(database, runId).problems]).toEqual([runId, []]);
  });

  it("another value in any column of the rows of the run as a whole, and a missing one of them", () => {
    const database = open();
    const missed = new Set<string>();
    for (const table of tablesOf(database).filter(({ name }) => OF_RUN.includes(name)))
      for (const [where, ...key] of rowsOf(database, table)) {
        for (const { name, type } of table.columns) {
          const change = `UPDATE ${table.name} SET ${name} = ${OTHER[type]?.replace("%", name)} WHERE ${where}`;
          if (!isNoticed(database, change, key, lookFirst)) missed.add(`${table.name}.${name}`);
        }
        if (!isNoticed(database, `DELETE FROM ${table.name} WHERE ${where}`, key, lookFirst))
          missed.add(table.name);
      }
    expect([...missed].sort()).toEqual(Object.keys(LEFT_TO_VERIFY));
  });
});
