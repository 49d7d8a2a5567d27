import { join } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
import { type CoveredTable, TABLES, type TableShape } from "../../../../src/store/sql/table-list.ts";
import { PATIENCE } from "../../../patience.ts";
import { tempFolder } from "../temp-folder.ts";
import { editor, RUNS, writeRuns } from "./tampered-store.ts";

/** A value that `verify` covers, and the name of its row. */
type Place = {
  readonly table: string;
  readonly column: string;
  readonly key: readonly [string, SQLInputValue][];
  readonly value: string | number | Uint8Array;
  readonly runId: string;
  readonly name: string;
};

const OF_RUN = "JOIN runs AS r USING (run_key)";
const OF_STEP = `${OF_RUN} JOIN run_steps AS s USING (run_key, step_no)`;
const OF_CALL = `${OF_RUN} JOIN tool_calls AS c USING (run_key, call_no)
  JOIN run_steps AS s ON s.run_key = c.run_key AND s.step_no = c.step_no`;
const STEP_ID = "run_id || '/' || step_path";
const TURN_ID = `${STEP_ID} || '#' || t.turn_index`;
const CALL_ID = `${STEP_ID} || '#' || c.turn_index || '.' || c.call_index`;

/** How people find a row, and how it is named; a group of its columns may have a name of its own. */
type Naming = { readonly of: string; readonly row: string; readonly [group: string]: string };

const NAMES: { readonly [table in Exclude<CoveredTable, "uncertain_calls">]: Naming } = {
  run_inputs: { of: OF_RUN, row: "'run input'", shape: "'run shape'" },
  run_labels: { of: OF_RUN, row: "'metadata ' || t.name || ': ' || t.value" },
  addresses: { of: OF_RUN, row: "'address ' || t.address" },
  messages: {
    of: OF_RUN,
    row: "'message ' || message_no",
    state: "'state of message ' || message_no",
    turn: "'turn of message ' || message_no",
  },
  attempts: { of: OF_RUN, row: "'attempt ' || t.epoch" },
  run_steps: { of: OF_RUN, row: "'state of step ' || step_path", output: "'step ' || step_path" },
  loop_decisions: { of: OF_STEP, row: "'decision ' || step_path || '[' || iteration || ']'" },
  granular_states: { of: OF_STEP, row: "'turns of step ' || step_path" },
  fingerprints: { of: OF_STEP, row: "'fingerprint of step ' || step_path || '~' || t.lineage" },
  lineages: { of: OF_STEP, row: `'lineage ' || ${STEP_ID} || '~' || t.lineage` },
  exchanges: {
    of: OF_STEP,
    row: `'exchange ' || ${STEP_ID} || '!' || exchange_no`,
    end: `'end of exchange ' || ${STEP_ID} || '!' || exchange_no`,
    stop: `'end of exchange ' || ${STEP_ID} || '!' || exchange_no`,
  },
  turns: { of: OF_STEP, row: `'turn ' || ${TURN_ID}`, follow_up: `'follow-up ' || ${TURN_ID}` },
  failed_model_calls: { of: OF_STEP, row: `'model call ' || ${TURN_ID} || '@' || t.attempt` },
  tool_calls: {
    of: OF_CALL,
    row: `'call ' || ${CALL_ID}`,
    state: `'state of call ' || ${CALL_ID}`,
    superseded: `'state of call ' || ${CALL_ID}`,
  },
  receipts: { of: OF_CALL, row: `'receipt ' || ${CALL_ID}` },
  tool_call_attempts: {
    of: OF_CALL,
    row: `'attempt ' || t.attempt || ' of ' || ${CALL_ID}`,
    late: `'late outcome of attempt ' || t.attempt || ' of ' || ${CALL_ID}`,
  },
  waits: {
    of: OF_RUN,
    row: "'question ' || run_id || '~' || wait_index",
    clock: "'time of wait ' || run_id || '~' || wait_index",
    answer: "'wait ' || run_id || '~' || wait_index",
  },
  slices: { of: OF_RUN, row: "'slice ' || slice_name" },
  slice_items: { of: OF_RUN, row: "'slice ' || slice_name || '[' || item_index || ']'" },
  applied_calls: { of: OF_CALL, row: `'events of ' || ${CALL_ID} || ' in the session'` },
  checkpoints: { of: OF_RUN, row: "'checkpoint ' || run_id || '~' || checkpoint_index" },
  slice_contents: { of: OF_RUN, row: "'piece of a slice ' || substr(content_hash, 1, 12)" },
  artifacts: { of: OF_RUN, row: "'artifact ' || artifact_name" },
};

/** A step or call that has moved is named by its new place. */
const MOVES: ReadonlySet<string> = new Set([
  "run_steps.step_path",
  "tool_calls.step_no",
  "tool_calls.turn_index",
  "tool_calls.call_index",
]);

/** Table, key, column, how a row is named, and where to read that from. */
type CoveredColumn = readonly [
  table: string,
  key: readonly string[],
  column: string,
  name: string,
  from: string,
];

const EVENTS = ["created_at", "type", "data", "hash", "of_run"].map(
  (column): CoveredColumn => ["events", ["run_key", "seq"], column, "'event ' || t.seq", OF_RUN],
);
const BLOBS = ["size", "bytes"].map(
  (column): CoveredColumn => [
    "blobs",
    ["run_key", "blob_hash"],
    column,
    "'blob ' || lower(hex(t.blob_hash))",
    OF_RUN,
  ],
);
const RUNS_COLUMNS = [
  "status",
  "limit_tokens",
  "owner",
  "epoch",
  "pipeline",
  "output",
  "context",
  "row_seq",
].map((column): CoveredColumn => ["runs", ["run_key"], column, "'run'", ""]);

function coveredColumns(): CoveredColumn[] {
  const columns = [...EVENTS, ...BLOBS, ...RUNS_COLUMNS];
  for (const [table, { of, ...names }] of Object.entries(NAMES)) {
    const { key, groups }: TableShape = TABLES[table as keyof typeof NAMES];
    for (const [group, inGroup] of Object.entries(groups))
      for (const column of Object.keys(inGroup))
        if (!MOVES.has(`${table}.${column}`))
          columns.push([table, Object.keys(key), column, names[group] ?? names.row, of]);
  }
  return columns;
}

function placesIn(database: DatabaseSync): Place[] {
  return coveredColumns().flatMap(([table, key, column, name, from]) => {
    // A column of a key may be named as the value or the name of a place is.
    const keys = key.map((each) => `t.${each} AS "key ${each}"`).join();
    const sql = `SELECT ${keys}, t.${column} AS value, run_id AS runId, ${name} AS name FROM ${table} AS t ${from}`;
    const rows = database.prepare(sql).all() as Record<string, string>[];
    return rows
      .map(
        (row) =>
          ({ ...row, key: key.map((each) => [each, row[`key ${each}`]]), table, column }) as unknown as Place,
      )
      .filter(({ value }) => value !== null && (typeof value === "number" || value.length > 0));
  });
}

/** The value with one bit flipped. */
function flipped(value: Place["value"], at: number, bit: number): number | Uint8Array {
  if (typeof value === "number") return value ^ (1 << (bit % 2));
  const bytes = Buffer.from(value as string);
  const i = at % bytes.byteLength;
  bytes[i] = (bytes[i] ?? 0) ^ (1 << bit);
  return bytes;
}

function write(database: DatabaseSync, { table, column, key, value }: Place, to: Place["value"]): void {
  const where = key.map(([name]) => `${name} = ?`).join(" AND ");
  // Invalid UTF-8 is written as it is: a disk does not ask either.
  const cast = typeof value === "string" ? "CAST(? AS TEXT)" : "?";
  const sql = `UPDATE ${table} SET ${column} = ${cast} WHERE ${where}`;
  const { changes } = database.prepare(sql).run(to, ...key.map(([, each]) => each));
  expect(changes).toBe(1);
}

it(
  "one flipped bit, in any row that verify covers, is detected, and the row is named",
  PATIENCE,
  async () => {
    const file = join(tempFolder(), "pawl.db");
    await writeRuns(file);
    const store = await openStore(`file:${file}`);
    const database = editor(file);
    try {
      const places = placesIn(database);
      const tables = new Map(
        coveredColumns().map(([table]) => [table, places.filter((place) => place.table === table)]),
      );
      for (const [table, inIt] of tables) expect([table, inIt.length > 0]).toEqual([table, true]);
      const place = fc
        .constantFrom(...tables.keys())
        .chain((table) => fc.constantFrom(...(tables.get(table) ?? [])));
      await fc.assert(
        fc.asyncProperty(place, fc.nat(), fc.nat(7), async (at, offset, bit) => {
          write(database, at, flipped(at.value, offset, bit));
          const { problems } = await store.verify(at.runId);
          write(database, at, at.value);
          expect(problems.map(({ row }) => row)).toContain(at.name);
        }),
        { numRuns: 500 },
      );
      for (const runId of RUNS) expect((await store.verify(runId)).problems).toEqual([]);
    } finally {
      database.close();
      await store.close();
    }
  },
);
