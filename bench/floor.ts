import { rmSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

/**
 * The cost of SQLite itself: raw statements, WAL, synchronous = FULL, two transactions a turn, and nothing read, checked,
 * hashed or encoded. There are two floors, since "the same bytes" can mean two things.
 */
export type Floor = {
  readonly name: string;
  /** Writes `turns` turns of each of `runs` runs, all runs in one transaction; returns microseconds a turn. */
  measure(file: string, runs: number, turns: number): number;
};

/** The bytes of the messages, and nothing else: one table, one row a transaction. */
export function bareFloor(messages: readonly string[]): Floor {
  const [response = "", result = ""] = messages;
  return {
    name: "the messages alone, in one table",
    measure: (file, runs, turns) =>
      timed(
        { file, runs, turns, pageBytes: SQLITE_PAGE_BYTES },
        "CREATE TABLE messages (message_no INTEGER PRIMARY KEY, message TEXT NOT NULL)",
        (database) => {
          const insert = database.prepare("INSERT INTO messages (message) VALUES (?)");
          return [() => insert.run(response), () => insert.run(result)];
        },
      ),
  };
}

/** The rows that Pawl writes, taken from a database it made, into the same tables with the same indexes and pages. */
export function sameRowsFloor(made: string): Floor {
  const source = new DatabaseSync(made, { readOnly: true });
  const pageBytes = Number(Object.values(source.prepare("PRAGMA page_size").get() ?? {})[0]);
  const schema = source
    .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    .all();
  const sample = Object.fromEntries(
    ["runs", "run_steps", "granular_states", "turns", "tool_calls", "receipts", "events"].map((table) => [
      table,
      source.prepare(`SELECT * FROM ${table} LIMIT 1 OFFSET ${OFFSETS[table] ?? 0}`).get() ?? {},
    ]),
  );
  source.close();
  return {
    name: "the same rows, in the same tables",
    measure: (file, runs, turns) =>
      timed({ file, runs, turns, pageBytes }, schema.map((row) => String(row.sql)).join(";\n"), (database) =>
        sameRows(database, sample, runs),
      ),
  };
}

/** Rows in the middle of a run: the first ones are smaller than most. */
const OFFSETS: { readonly [table: string]: number } = {
  turns: 500,
  tool_calls: 500,
  receipts: 500,
  events: 1_000,
};

type Sample = { readonly [table: string]: Record<string, unknown> };

/** SQLite computes such a column itself, here as in the store. */
function isGenerated(database: DatabaseSync, table: string, column: string): boolean {
  const select = "SELECT hidden FROM pragma_table_xinfo(?) WHERE name = ?";
  return database.prepare(select).get(table, column)?.hidden !== 0;
}

function sameRows(
  database: DatabaseSync,
  sample: Sample,
  runs: number,
): [(run: number) => void, (run: number) => void] {
  const insert = (table: string, changed: Record<string, unknown>) => {
    const row = { ...sample[table], ...changed };
    const columns = Object.keys(row).filter((column) => !isGenerated(database, table, column));
    const statement = database.prepare(
      `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    );
    return {
      statement,
      values: columns.map((column) => row[column]) as SQLInputValue[],
      at: (column: string) => columns.indexOf(column),
    };
  };
  for (let run = 1; run <= runs; run++) {
    for (const [table, changed] of [
      ["runs", { run_key: run, run_id: `run-${run}`, current_step_no: null }],
      ["run_steps", { run_key: run }],
      ["granular_states", { run_key: run }],
    ] as const) {
      const { statement, values } = insert(table, changed);
      statement.run(...values);
    }
  }
  const [turn, call, receipt, event] = [
    insert("turns", {}),
    insert("tool_calls", {}),
    insert("receipts", {}),
    insert("events", {}),
  ];
  const updateRun = database.prepare(
    `UPDATE runs SET updated_at = ?, charged_tokens = ?, charged_micro_dollars = ?, reserved_tokens = ?,
            reserved_micro_dollars = ?, calls = ?, event_seq = ?, event_hash = ? WHERE run_key = ? AND event_hash <> ?`,
  );
  const updateState = database.prepare(
    `UPDATE granular_states SET turn_index = ?, messages = messages + 2, tokens = tokens + 300, open_turn_index = ?,
            open_attempt = 1, reserved_tokens = 6000, reserved_micro_dollars = 0 WHERE run_key = ?`,
  );
  const turnsOf = new Map<number, number>();
  const seqOf = new Map<number, number>();
  let callNo = 0;
  const add = (run: number) => {
    const seq = (seqOf.get(run) ?? 0) + 1;
    seqOf.set(run, seq);
    event.values[event.at("run_key")] = run;
    event.values[event.at("seq")] = seq;
    event.statement.run(...event.values);
    updateRun.run(seq, seq, 0, 6_000, 0, seq, seq, event.values[event.at("hash")] ?? null, run, NO_HASH);
  };
  const key = Buffer.alloc(32);
  return [
    (run) => {
      const index = (turnsOf.get(run) ?? 0) + 1;
      turnsOf.set(run, index);
      callNo += 1;
      // A key is practically random, which determines the cost of its index.
      key.writeDoubleLE((callNo * 0.6180339887498949) % 1, 0);
      key.writeUInt32LE((callNo * 2654435761) >>> 0, 0);
      key.writeUInt32LE(callNo, 28);
      call.values[call.at("call_no")] = callNo;
      call.values[call.at("run_key")] = run;
      call.values[call.at("turn_index")] = index;
      call.values[call.at("idempotency_key")] = key;
      call.statement.run(...call.values);
      turn.values[turn.at("run_key")] = run;
      turn.values[turn.at("turn_index")] = index;
      turn.values[turn.at("first_call_no")] = callNo;
      turn.statement.run(...turn.values);
      add(run);
      lastCall.set(run, callNo);
    },
    (run) => {
      receipt.values[receipt.at("run_key")] = run;
      receipt.values[receipt.at("call_no")] = lastCall.get(run) ?? 0;
      receipt.statement.run(...receipt.values);
      const index = turnsOf.get(run) ?? 0;
      updateState.run(index, index + 1, run);
      add(run);
    },
  ];
}

const lastCall = new Map<number, number>();
const NO_HASH = Buffer.alloc(32, 1);

/** What SQLite itself gives a new database. */
const SQLITE_PAGE_BYTES = 4_096;

type FloorSize = {
  readonly file: string;
  readonly runs: number;
  readonly turns: number;
  readonly pageBytes: number;
};

function timed(
  { file, runs, turns, pageBytes }: FloorSize,
  schema: string,
  prepare: (database: DatabaseSync) => [(run: number) => void, (run: number) => void],
): number {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: true });
  database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`);
  database.exec(schema);
  const [first, second] = prepare(database);
  const [begin, commit]: [StatementSync, StatementSync] = [
    database.prepare("BEGIN IMMEDIATE"),
    database.prepare("COMMIT"),
  ];
  const start = performance.now();
  for (let turn = 0; turn < turns; turn++) {
    for (const write of [first, second]) {
      begin.run();
      for (let run = 1; run <= runs; run++) write(run);
      commit.run();
    }
  }
  const elapsed = performance.now() - start;
  database.close();
  return (elapsed * 1_000) / (turns * runs);
}
