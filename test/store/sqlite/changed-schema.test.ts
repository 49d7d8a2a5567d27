import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { StoreUnusableError } from "../../../src/core/errors.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import type { Store } from "../../../src/store/store.ts";
import { newRun } from "../../../src/testing/store/sample-run.ts";
import { tempFolder } from "./temp-folder.ts";

async function storeFile(): Promise<string> {
  const file = join(tempFolder(), "pawl.db");
  const store = await openStore(`file:${file}`);
  await store.createRun(newRun("run-1"));
  await store.close();
  return file;
}

function edit(file: string, sql: string): void {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false, defensive: false } as object);
  database.exec(sql);
  database.close();
}

async function open(file: string, readOnly = false): Promise<Store> {
  const store = await openStore(`file:${file}`, { readOnly });
  onTestFinished(() => store.close());
  return store;
}

/** Edits a column of the schema table itself: what SQLite parses when it opens the file. */
function rewritten(name: string, from: string, to: string): string {
  return `PRAGMA writable_schema = ON;
          UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}') WHERE name = '${name}';
          PRAGMA writable_schema = RESET`;
}

const CHANGED: readonly (readonly [string, string, RegExp])[] = [
  [
    "a trigger",
    `CREATE TRIGGER helper AFTER INSERT ON waits BEGIN
       UPDATE waits SET status = 'answered' WHERE wait_index = new.wait_index; END`,
    /a trigger "helper" that Pawl did not make/,
  ],
  ["a view", "CREATE VIEW helper AS SELECT * FROM runs", /a view "helper" that Pawl did not make/],
  [
    "a view in place of a table",
    "ALTER TABLE waits RENAME TO kept; CREATE VIEW waits AS SELECT * FROM kept",
    /another table "kept"|"kept" that Pawl did not make|another view "waits"/,
  ],
  [
    "another view for auditors",
    "DROP VIEW audit_runs; CREATE VIEW audit_runs AS SELECT * FROM runs",
    /another view "audit_runs" than Pawl made/,
  ],
  ["one more view for auditors", "CREATE VIEW audit_more AS SELECT 1", /a view "audit_more" that/],
  ["a view for auditors that is gone", "DROP VIEW audit_checkpoints", /has no view audit_checkpoints/],
  ["a table that is gone", "DROP TABLE workers", /has no table workers/],
  ["an index that is gone", "DROP INDEX open_waits", /has no index open_waits/],
  ["a column more", "ALTER TABLE waits ADD COLUMN more TEXT", /another table "waits" than Pawl made/],
  [
    "a generated column",
    "ALTER TABLE waits ADD COLUMN more TEXT GENERATED ALWAYS AS (upper(question)) VIRTUAL",
    /another table "waits"/,
  ],
  ["an index that computes", "CREATE INDEX mine ON waits (upper(question))", /an? index "mine"/],
  ["a check that is gone", rewritten("waits", "''open'', ", ""), /another table "waits"/],
  ["a default", rewritten("waits", "answer TEXT", "answer TEXT DEFAULT ''{}''"), /another table "waits"/],
  [
    "a foreign table that refers to one of ours",
    "CREATE TABLE mine (run_key REFERENCES runs (run_key))",
    /a table "mine"/,
  ],
  ["a virtual table", "CREATE VIRTUAL TABLE mine USING fts5(a)", /"mine" that Pawl did not make/],
];

describe("a database whose schema is not what Pawl made", () => {
  it.for(CHANGED)("is refused for writing and reading: %s", async ([, sql, said]) => {
    const file = await storeFile();
    edit(file, sql);
    for (const readOnly of [false, true]) {
      const error: unknown = await openStore(`file:${file}`, { readOnly }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreUnusableError);
      expect(error).toMatchObject({
        details: { reason: "changed_schema" },
        message: expect.stringMatching(said),
      });
    }
  });

  // An open connection keeps the schema it has read: an edit in place does not reach it.
  const noticed = CHANGED.filter(([, sql]) => !sql.includes("writable_schema"));
  it.for(noticed)("is refused by a store that has it open: %s", async ([, sql, said]) => {
    const file = await storeFile();
    const [store, reader] = [await open(file), await open(file, true)];
    edit(file, sql);
    for (const act of [
      () => store.createRun(newRun("late")),
      () => store.listOpenWaits(),
      () => reader.listRuns(),
    ])
      await expect(act()).rejects.toMatchObject({
        details: { reason: "changed_schema" },
        message: expect.stringMatching(said),
      });
  });

  it("is refused before it is migrated", async () => {
    const file = await storeFile();
    edit(file, "CREATE VIEW helper AS SELECT 1; PRAGMA user_version = 200");
    await expect(openStore(`file:${file}`)).rejects.toMatchObject({ details: { reason: "changed_schema" } });
  });

  it("may have statistics, and unrelated tables of other programs", async () => {
    const file = await storeFile();
    edit(
      file,
      "CREATE TABLE _replication (id INTEGER PRIMARY KEY, seq INTEGER); CREATE INDEX r ON _replication (seq); ANALYZE",
    );
    const store = await open(file);
    await store.createRun(newRun("more"));
    expect(await (await open(file, true)).listRuns()).toHaveLength(2);
  });
});

describe("a connection", () => {
  it("does not trust the content of the file", () => {
    const database = Database.open(join(tempFolder(), "pawl.db"));
    onTestFinished(() => database.close());
    const pragma = (name: string) => Object.values(database.sql(`PRAGMA ${name}`).get() ?? {})[0];
    expect(pragma("trusted_schema")).toBe(0);
    expect(pragma("cell_size_check")).toBe(1);
    database.exec("PRAGMA writable_schema = ON");
    expect(pragma("writable_schema")).toBe(0);
    expect(() => database.exec("SELECT load_extension('x')")).toThrow();
  });
});

describe("a new store", () => {
  const modesIn = (folder: string) =>
    Object.fromEntries(
      readdirSync(folder).map((name) => [
        name.replace(/-(owner|sent)-.*/, "-$1"),
        (statSync(join(folder, name)).mode & 0o777).toString(8),
      ]),
    );

  it("is private to its owner, with its sidecar files", async () => {
    const mask = process.umask(0o022);
    onTestFinished(() => void process.umask(mask));
    const folder = tempFolder();
    const store = await open(join(folder, "pawl.db"));
    await store.createRun(newRun("run-1"));
    expect(modesIn(folder)).toEqual({
      "pawl.db": "600",
      "pawl.db-owner": "600",
      "pawl.db-sent": "600",
      "pawl.db-shm": "600",
      "pawl.db-wal": "600",
    });
  });

  it("keeps the mode that an operator gave it, and its socket has it too", async () => {
    const folder = tempFolder();
    const file = join(folder, "pawl.db");
    await (await openStore(`file:${file}`)).close();
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o660);
    const store = await open(file);
    await store.createRun(newRun("run-1"));
    expect(modesIn(folder)).toMatchObject({ "pawl.db": "660", "pawl.db-wal": "660", "pawl.db-owner": "660" });
  });
});
