import { developmentSchema, latestVersion, type Migration, newerSchema } from "../sql/migration.ts";
import type { Database } from "./database.ts";
import { MIGRATIONS } from "./embedded-migrations.ts";
import { assertOwnSchema, schemaMadeBy } from "./schema.ts";

/**
 * Brings the database to this program's schema, in one transaction that begins by taking the write lock, so two
 * processes that start together migrate it once. Refuses a schema that is newer than the program, and one that
 * differs from what the migrations up to its version create.
 */
export function migrate(database: Database, now: number, all: readonly Migration[] = MIGRATIONS): void {
  if (isUpToDate(database, all)) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    const version = schemaVersion(database);
    const latest = latestVersion(all);
    if (version > latest) throw newerSchema(database.file, version, latest);
    if (version !== 0 && version < (all[0]?.number ?? 0)) throw developmentSchema(database.file, version);
    assertOwnSchema(
      database,
      all.filter(({ number }) => number <= version),
    );
    const pending = all.filter(({ number }) => number > version);
    if (version === 0) for (const { sql } of schemaMadeBy(all)) database.exec(sql ?? "");
    else for (const { sql } of pending) database.exec(sql);
    for (const { number, name } of pending)
      database.run("INSERT INTO migrations VALUES (?, ?, ?)", number, name, now);
    database.exec(`PRAGMA user_version = ${latest}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function isUpToDate(database: Database, all: readonly Migration[]): boolean {
  return database.snapshot(() => {
    if (schemaVersion(database) !== latestVersion(all)) return false;
    assertOwnSchema(database, all);
    return true;
  });
}

export function schemaVersion(database: Database): number {
  return database.get("PRAGMA user_version")?.int("user_version") ?? 0;
}
