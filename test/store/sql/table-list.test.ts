import { describe, expect, it } from "vitest";
import { BUNDLE_TABLES, bundleColumns } from "../../../src/store/sql/bundle-tables.ts";
import { ALL_TABLES, type TableShape } from "../../../src/store/sql/table-list.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { migrate } from "../../../src/store/sqlite/migrate.ts";

/** Written by migrations alone. */
const OTHERS = ["migrations"];

const TYPES = { int: "INTEGER", text: "TEXT", bytes: "BLOB", run: "INTEGER" } as const;

function columnsIn(database: Database, table: string) {
  return database
    .all(`SELECT name, type, "notnull" AS required, pk FROM pragma_table_info('${table}')`)
    .map((row) => ({
      name: row.text("name"),
      type: row.text("type"),
      isRequired: row.int("required") === 1 || row.int("pk") > 0,
      key: row.int("pk"),
    }));
}

function columnsOf({ key, groups }: TableShape) {
  const all = [...Object.entries(key), ...Object.values(groups).flatMap((group) => Object.entries(group))];
  return all.map(([name, type], i) => ({
    name,
    type: TYPES[type.replace("?", "") as keyof typeof TYPES],
    isRequired: !type.endsWith("?"),
    key: i < Object.keys(key).length ? i + 1 : 0,
  }));
}

describe("the list of tables", () => {
  const database = Database.open(":memory:");
  migrate(database, 0);

  it("has every table of the schema, and no other", () => {
    const tables = database
      .all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .map((row) => row.text("name"));
    expect(tables).toEqual([...Object.keys(ALL_TABLES), ...OTHERS].sort());
  });

  it.each(Object.entries<TableShape>(ALL_TABLES))(
    "has the key and the columns of %s, each in one group",
    (table, shape) => {
      const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
      expect(columnsOf(shape).sort(byName)).toEqual(columnsIn(database, table).sort(byName));
    },
  );

  it("leads every key with the run, but for tables that belong to no run", () => {
    const others = Object.entries(ALL_TABLES).filter(([, { key }]) => Object.keys(key)[0] !== "run_key");
    expect(others.map(([table]) => table)).toEqual([
      "identity",
      "workers",
      "tombstones",
      "schedules",
      "firings",
      "live_workers",
      "access_tokens",
      "audit_log",
      "webhooks",
      "webhook_feed",
      "webhook_deliveries",
    ]);
  });

  it("has a bundle move every table that has rows of a run", () => {
    const ofRuns = database
      .all("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .map((row) => row.text("name"))
      .filter((table) => columnsIn(database, table).some(({ name }) => name === "run_key"));
    expect([...BUNDLE_TABLES].sort()).toEqual(ofRuns.sort());
    for (const table of BUNDLE_TABLES)
      expect(["run_key", ...(bundleColumns()[table] ?? [])].sort()).toEqual(
        columnsIn(database, table)
          .map(({ name }) => name)
          .sort(),
      );
  });
});
