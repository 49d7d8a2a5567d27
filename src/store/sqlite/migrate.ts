import { readdirSync, readFileSync } from "node:fs";
import { StoreUnusableError } from "../../core/errors.ts";
import type { Database } from "./database.ts";

const FOLDER = new URL("./migrations/", import.meta.url);

export type Migration = { readonly number: number; readonly name: string; readonly sql: string };

/** The numbered SQL files, in order and without a hole. */
export function migrations(): Migration[] {
  const files = readdirSync(FOLDER)
    .filter((file) => file.endsWith(".sql"))
    .sort();
  return files.map((file, index) => {
    const number = Number(file.slice(0, 4));
    if (number !== index + 1) throw new Error(`Migration ${file} should be number ${index + 1}.`);
    return { number, name: file.slice(5, -4), sql: readFileSync(new URL(file, FOLDER), "utf8") };
  });
}

/**
 * Brings the database to this program's schema. All in one transaction that begins by taking the write lock, so two
 * processes that start together do it once. A schema that is newer than the program is refused. Gives the version.
 */
export function migrate(database: Database, now: number, all: readonly Migration[] = migrations()): number {
  if (schemaVersion(database) === all.length) return all.length;
  database.exec("BEGIN IMMEDIATE");
  try {
    const version = schemaVersion(database);
    if (version > all.length) throw newerSchema(database, version, all.length);
    const pending = all.slice(version);
    if (version === 0) makeSchema(database, all);
    else for (const { sql } of pending) database.exec(sql);
    for (const { number, name } of pending)
      database.run("INSERT INTO migrations VALUES (?, ?, ?)", number, name, now);
    database.exec(`PRAGMA user_version = ${all.length}`);
    database.exec("COMMIT");
    return all.length;
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** What migrations made of an empty database in this process, by their text. */
const schemasMade = new Map<string, string>();

/**
 * The migrations are applied to the first empty database, and the next one gets what they made of it: they leave tables
 * and no rows. That takes 2 ms where they take 12, since SQLite reads the whole schema again at each ALTER TABLE, and
 * whoever tests their jobs opens an empty database in each test.
 */
function makeSchema(database: Database, all: readonly Migration[]): void {
  const text = all.map(({ sql }) => sql).join("\n");
  const made = schemasMade.get(text);
  if (made !== undefined) return database.exec(made);
  database.exec(
    "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
  );
  for (const { sql } of all) database.exec(sql);
  const parts = database.all("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid");
  schemasMade.set(text, parts.map((part) => `${part.text("sql")};`).join("\n"));
}

/**
 * Inside a write transaction: another process may have migrated the database since it was opened, and rows that this
 * program writes would not be what that one expects.
 */
export function assertSchema(database: Database, known: number): void {
  const version = schemaVersion(database);
  if (version !== known) throw newerSchema(database, version, known);
}

export function newerSchema(database: Database, version: number, known: number): StoreUnusableError {
  return new StoreUnusableError(
    `The database ${database.file} has schema ${version} and this version of Pawl knows ${known}: use a newer Pawl; nothing was changed.`,
    { reason: "newer_schema" },
  );
}

export function schemaVersion(database: Database): number {
  return database.get("PRAGMA user_version")?.int("user_version") ?? 0;
}
