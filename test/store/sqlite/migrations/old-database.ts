import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { Database } from "../../../../src/store/sqlite/database.ts";
import { MIGRATIONS } from "../../../../src/store/sqlite/embedded-migrations.ts";
import { migrate } from "../../../../src/store/sqlite/migrate.ts";
import type { Store } from "../../../../src/store/store.ts";
import { tempFolder } from "../temp-folder.ts";

/** A file as an earlier version left it, with the rows of `version-….sql`. */
export function databaseOfVersion(version: number): string {
  const file = join(tempFolder(), "pawl.db");
  const database = Database.open(file);
  migrate(database, 1, MIGRATIONS.slice(0, version));
  database.exec(readFileSync(new URL(`version-${version}.sql`, import.meta.url), "utf8"));
  expect(database.get("PRAGMA user_version")?.int("user_version")).toBe(version);
  database.close();
  return file;
}

export function withRows<T>(file: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Asserts that it has the newest version, and that SQLite finds no problem. */
export function expectIntact(file: string): void {
  withRows(file, (database) => {
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: MIGRATIONS.length });
    expect(database.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  });
}

/** The counts and problems of `verify` for each run. */
export async function verified(store: Store, runIds: readonly string[]): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const id of runIds) {
    const { runId: _, ...looked } = await store.verify(id);
    found[id] = looked;
  }
  return found;
}

export type TableValues = Readonly<Record<string, readonly unknown[]>>;

/** Every value of every table, by column; with `like`, only of the tables and columns in it. */
export function valuesOf(file: string, like?: TableValues): TableValues {
  return withRows(file, (database) => {
    const tables = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migrations'")
      .all()
      .map(({ name }) => String(name));
    const known = tables.filter((table) => like === undefined || table in like);
    return Object.fromEntries(
      known.map((table) => {
        const columns = like === undefined ? "*" : Object.keys(like[table]?.[0] ?? {}).join();
        return [table, database.prepare(`SELECT ${columns} FROM ${table} ORDER BY 1, 2`).all()];
      }),
    );
  });
}
