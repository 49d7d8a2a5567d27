import { StoreUnusableError } from "../../core/errors.ts";
import type { Migration } from "../sql/migration.ts";
import type { Database } from "./database.ts";
import { sqlite } from "./node-sqlite.ts";

/** One object of a schema: a table, an index or a view; in a tampered file also a trigger. */
type SchemaPart = {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  /** Null for an index that SQLite creates itself. */
  readonly sql: string | null;
};

const PARTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid";

/** The schemas that migrations create in an empty database, by the text of the migrations. */
const schemasMade = new Map<string, readonly SchemaPart[]>();

/**
 * Migrations leave tables and no rows, so they are applied once, in memory, and every new file gets the result: that
 * takes 2 ms instead of 12, since SQLite reads the whole schema again at each ALTER TABLE.
 */
export function schemaMadeBy(all: readonly Migration[]): readonly SchemaPart[] {
  const text = all.map(({ sql }) => sql).join("\n");
  const known = schemasMade.get(text);
  if (known !== undefined || all.length === 0) return known ?? [];
  const database = new sqlite.DatabaseSync(":memory:");
  try {
    database.exec(
      "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
    );
    for (const { sql } of all) database.exec(sql);
    const parts = database.prepare(PARTS).all() as {
      type: string;
      name: string;
      tbl_name: string;
      sql: string | null;
    }[];
    const made = parts.map(({ tbl_name: table, ...part }) => ({ ...part, table }));
    schemasMade.set(text, made);
    return made;
  } finally {
    database.close();
  }
}

/**
 * The schema is code: a trigger runs with every write, a view answers in place of its table, and an index or a
 * generated column computes. So the file must have exactly what the migrations up to its version create, and beyond
 * it nothing that runs code.
 */
export function assertOwnSchema(database: Database, all: readonly Migration[]): void {
  const stored = database.all(PARTS).map((row) => ({
    type: row.text("type"),
    name: row.text("name"),
    table: row.text("tbl_name"),
    sql: row.optionalText("sql"),
  }));
  const missing = new Map(schemaMadeBy(all).map((part) => [part.name, part]));
  const own = new Set([...missing.values()].map(({ table }) => table));
  for (const part of stored) {
    const made = missing.get(part.name);
    missing.delete(part.name);
    if (made !== undefined ? !isSame(part, made) : !isHarmless(part, own))
      throw changedSchema(database, part, made);
  }
  for (const part of missing.values()) throw changedSchema(database, null, part);
}

/**
 * The schema of a newer Pawl is not known here, but nothing in it may run code. Its views for auditors are never read by
 * a store, and have names that none of the tables has.
 */
export function assertNothingRuns(database: Database): void {
  const part = database.get(
    `SELECT type, name FROM sqlite_schema
      WHERE type NOT IN ('table', 'index') AND NOT (type = 'view' AND name GLOB 'audit_*') LIMIT 1`,
  );
  if (part === null) return;
  throw changedSchema(database, { type: part.text("type"), name: part.text("name") }, undefined);
}

function isSame(part: SchemaPart, made: SchemaPart): boolean {
  const isSameText = part.sql === made.sql || normal(part.sql) === normal(made.sql);
  return part.type === made.type && part.table === made.table && isSameText;
}

/** A string, a quoted name, a comment, whitespace, a word, or one character: the tokens of SQLite. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*.*?(?:\*\/|$)|\s+|[\w$]+|./gs;

/** SQLite quotes a name when it renames a table, and keeps comments and spaces as they were written. */
function normal(sql: string | null): string | null {
  const tokens = sql?.match(TOKEN)?.filter((token) => !/^(--|\/\*|\s)/.test(token));
  return tokens?.map((token) => token.replace(/^"(\w+)"$/, "$1")).join(" ") ?? null;
}

/**
 * True for a table of another program, such as one that a replication tool keeps beside ours: we never read it, and
 * our writes do not touch it unless it refers to one of our tables. SQLite's own statistics are for its planner.
 */
function isHarmless({ type, table, name, sql }: SchemaPart, own: ReadonlySet<string>): boolean {
  if (type === "table" && /^sqlite_(stat[134]|sequence)$/.test(name)) return true;
  if (own.has(table)) return false;
  if (type === "index") return true;
  return type === "table" && sql !== null && /^CREATE\s+TABLE\b/i.test(sql) && !/\bREFERENCES\b/i.test(sql);
}

function changedSchema(
  database: Database,
  found: { readonly type: string; readonly name: string } | null,
  made: SchemaPart | undefined,
): StoreUnusableError {
  const what =
    found === null
      ? `has no ${made?.type} ${made?.name}`
      : made === undefined
        ? `has a ${found.type} ${JSON.stringify(found.name)} that Pawl did not make`
        : `has another ${found.type} ${JSON.stringify(found.name)} than Pawl made`;
  return new StoreUnusableError(
    `The database ${database.file} ${what}, so nothing in it can be relied on: find out who changed it, and restore it from a backup; nothing was changed.`,
    { reason: "changed_schema" },
  );
}
