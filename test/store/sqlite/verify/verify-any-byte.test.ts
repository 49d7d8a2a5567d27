import { join } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
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

const CALL_ID = "run_id || '/' || step_path || '#' || turn_index || '.' || call_index";
const CALLS = "tool_calls JOIN run_steps USING (step_no) JOIN runs USING (run_no)";
const TURNS = "turns JOIN run_steps USING (step_no) JOIN runs USING (run_no)";
const TURN_ID = "run_id || '/' || step_path || '#' || turn_index";

const CHECKPOINT_ID = "'checkpoint ' || run_id || '~' || checkpoint_index";
const CHECKPOINTS = "checkpoints JOIN runs ON runs.run_no = checkpoints.run_no";

/** Table, key, columns, how a row is named, and where to read that from. */
const COVERED: readonly (readonly [string, readonly string[], readonly string[], string, string])[] = [
  [
    "receipts",
    ["call_no"],
    [
      "status",
      "created_at",
      "tokens",
      "error_code",
      "uncertain",
      "source",
      "external_correlation_id",
      "duplicate_of",
      "blob_hash",
      "blob_size",
      "output",
      "session_events",
    ],
    `'receipt ' || ${CALL_ID}`,
    `receipts JOIN ${CALLS.replace("tool_calls", "tool_calls USING (call_no)")}`,
  ],
  [
    "tool_calls",
    ["call_no"],
    [
      "tool_namespace",
      "tool_name",
      "side_effect_class",
      "recovery",
      "identity_hash",
      "occurrence",
      "idempotency_key",
      "request",
    ],
    `'call ' || ${CALL_ID}`,
    CALLS,
  ],
  [
    "events",
    ["run_no", "seq"],
    ["created_at", "type", "data", "hash"],
    "'event ' || seq",
    "events JOIN runs USING (run_no)",
  ],
  ["turns", ["turn_no"], ["response"], `'turn ' || ${TURN_ID}`, TURNS],
  ["turns", ["turn_no"], ["follow_up"], `'follow-up ' || ${TURN_ID}`, TURNS],
  [
    "run_steps",
    ["step_no"],
    ["output", "context"],
    "'step ' || step_path",
    "run_steps JOIN runs USING (run_no)",
  ],
  ["run_inputs", ["run_no"], ["input"], "'run input'", "run_inputs JOIN runs USING (run_no)"],
  ["run_inputs", ["run_no"], ["spec"], "'run spec'", "run_inputs JOIN runs USING (run_no)"],
  [
    "artifacts",
    ["run_no", "artifact_name"],
    ["size", "blob_hash", "step_no", "created_at"],
    "'artifact ' || artifact_name",
    "artifacts JOIN runs USING (run_no)",
  ],
  ["runs", ["run_no"], ["output", "context"], "'run output'", "runs"],
  [
    "waits",
    ["run_no", "wait_index"],
    ["answer"],
    "'wait ' || run_id || '~' || wait_index",
    "waits JOIN runs USING (run_no)",
  ],
  [
    "slice_items",
    ["run_no", "slice_name", "item_index"],
    ["value"],
    "'slice ' || slice_name || '[' || item_index || ']'",
    "slice_items JOIN runs USING (run_no)",
  ],
  [
    "checkpoints",
    ["run_no", "checkpoint_index"],
    ["checkpoint_type", "step_no", "turn_index", "cursor"],
    CHECKPOINT_ID,
    CHECKPOINTS,
  ],
  // The last bits of compressed data may mean nothing.
  [
    "checkpoints",
    ["run_no", "checkpoint_index"],
    ["snapshot"],
    CHECKPOINT_ID,
    `${CHECKPOINTS} AND encoding = 'json'`,
  ],
  [
    "blobs",
    ["blob_no"],
    ["bytes"],
    "'blob ' || lower(hex(blob_hash))",
    "blobs JOIN blob_references USING (blob_hash) JOIN runs USING (run_no)",
  ],
];

function placesIn(database: DatabaseSync): Place[] {
  return COVERED.flatMap(([table, key, columns, name, from]) =>
    columns.flatMap((column) => {
      const keys = key.map((each) => `${table}.${each}`).join();
      const sql = `SELECT ${keys}, ${table}.${column} AS value, run_id AS runId, ${name} AS name FROM ${from}`;
      const rows = database.prepare(sql).all() as Record<string, string>[];
      return rows
        .map(
          (row) => ({ ...row, key: key.map((each) => [each, row[each]]), table, column }) as unknown as Place,
        )
        .filter(({ value }) => value !== null && (typeof value === "number" || value.length > 0));
    }),
  );
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
        COVERED.map(([table]) => [table, places.filter((place) => place.table === table)]),
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
