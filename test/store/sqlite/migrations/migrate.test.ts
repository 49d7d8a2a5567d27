import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { embeddedMigrations, withoutComments } from "../../../../scripts/embed-migrations.ts";
import { StoreUnusableError } from "../../../../src/core/errors.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { Database } from "../../../../src/store/sqlite/database.ts";
import { MIGRATIONS } from "../../../../src/store/sqlite/embedded-migrations.ts";
import { migrate } from "../../../../src/store/sqlite/migrate.ts";
import { assertOwnSchema } from "../../../../src/store/sqlite/schema.ts";
import { newRun } from "../../../../src/testing/store/sample-run.ts";
import { Child } from "../child.ts";
import { tempFolder } from "../temp-folder.ts";

function openDatabase(file = join(tempFolder(), "pawl.db")): Database {
  const database = Database.open(file);
  onTestFinished(() => database.close());
  return database;
}

function schemaOf(database: Database): string {
  const rows = database.all("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name");
  return rows.map((row) => `${row.text("sql")};\n`).join("\n");
}

function versionOf(database: Database): number {
  return database.get("PRAGMA user_version")?.int("user_version") ?? -1;
}

/** Lower numbers were those of versions before the first release. */
const FIRST = 200;
const LATEST = FIRST + MIGRATIONS.length - 1;

const OWN =
  "CREATE TABLE other (a INTEGER); ALTER TABLE other RENAME TO own; CREATE INDEX own_index ON own (a);";

describe("the migrations", () => {
  it("are numbered from 200 without a gap", () => {
    const folder = new URL("../../../../src/store/sqlite/migrations/", import.meta.url);
    const files = readdirSync(folder).sort();
    expect(files.length).toBeGreaterThan(0);
    files.forEach((file, i) =>
      expect(file).toMatch(new RegExp(`^${String(FIRST + i).padStart(4, "0")}-[a-z0-9-]+\\.sql$`)),
    );
    expect(MIGRATIONS.map(({ number }) => number)).toEqual(files.map((_, i) => FIRST + i));
  });

  it("are embedded as they are in their files (`node scripts/embed-migrations.ts` rewrites the module)", () => {
    const module = new URL("../../../../src/store/sqlite/embedded-migrations.ts", import.meta.url);
    expect(readFileSync(module, "utf8")).toBe(embeddedMigrations("sqlite"));
  });

  it("make the schema that is committed in test/store/sqlite/schema.sql (`vitest run test/store -u` rewrites it)", async () => {
    const database = openDatabase();
    migrate(database, 0);
    expect(existsSync(new URL("../schema.sql", import.meta.url))).toBe(true);
    await expect(schemaOf(database)).toMatchFileSnapshot("../schema.sql");
  });

  it("make the same schema to a store without their comments, as the package has them", () => {
    const database = openDatabase();
    const short = MIGRATIONS.map((each) => ({ ...each, sql: withoutComments(each.sql) }));
    migrate(database, 0, short);
    expect(schemaOf(database)).not.toContain("--");
    assertOwnSchema(database, MIGRATIONS);
    const commented = openDatabase();
    migrate(commented, 0);
    assertOwnSchema(commented, short);
  });

  it("lose their comments only if no text in them has several lines", () => {
    const sql = "-- A view.\n\nCREATE VIEW a AS\n  SELECT '--' AS b; -- beside\n  -- It's below.\n";
    expect(withoutComments(sql)).toBe("CREATE VIEW a AS\nSELECT '--' AS b; -- beside");
    expect(() => withoutComments("SELECT '\n  -- a text'")).toThrow(/more than one line/);
  });

  it("are applied once, and recorded", () => {
    const database = openDatabase();
    migrate(database, 42);
    const schema = schemaOf(database);
    migrate(database, 43);
    expect(schemaOf(database)).toBe(schema);
    const rows = database.all("SELECT number, name, applied_at FROM migrations ORDER BY number");
    expect(rows.map((row) => [row.int("number"), row.text("name"), row.int("applied_at")])).toEqual(
      MIGRATIONS.map(({ number, name }) => [number, name, 42]),
    );
    expect(versionOf(database)).toBe(LATEST);
  });

  it("create the same schema in a second new database, and leave only their own records", () => {
    const [first, second] = [0, 1].map(() => {
      const database = openDatabase();
      // Used by no other test, so that the first database here is the first one they are applied to.
      migrate(database, 7, [...MIGRATIONS, { number: LATEST + 1, name: "own", sql: OWN }]);
      const parts = database
        .all("SELECT type || ' ' || name AS part FROM sqlite_schema ORDER BY part")
        .map((row) => row.text("part"));
      const tables = parts.filter((part) => part.startsWith("table ")).map((part) => part.slice(6));
      const filled = tables.filter((table) => database.get(`SELECT 1 FROM "${table}"`) !== null);
      return { version: versionOf(database), schema: schemaOf(database), parts, tables, filled };
    });
    expect(first?.tables).toContain("own");
    expect(first?.filled).toEqual(["migrations"]);
    expect(second).toEqual(first);
  });

  it("bring a database of an earlier version up to date, and keep its content", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    await store.createRun(newRun("run-1"));
    await store.close();
    const database = openDatabase(file);
    const next = {
      number: LATEST + 1,
      name: "more",
      sql: "ALTER TABLE runs ADD COLUMN more TEXT;",
    };
    migrate(database, 1, [...MIGRATIONS, next]);
    expect(versionOf(database)).toBe(next.number);
    expect(database.get("SELECT run_id, more FROM runs")?.optionalText("more")).toBeNull();
  });

  it("are applied whole or not at all", () => {
    const database = openDatabase();
    migrate(database, 0);
    const schema = schemaOf(database);
    const bad = {
      number: LATEST + 1,
      name: "bad",
      sql: "CREATE TABLE half (a); CREATE TABLE runs (b);",
    };
    expect(() => migrate(database, 1, [...MIGRATIONS, bad])).toThrow(/runs/);
    expect(database.inTransaction).toBe(false);
    expect(schemaOf(database)).toBe(schema);
    expect(versionOf(database)).toBe(LATEST);
  });
});

describe("a database of a newer version", () => {
  it("is refused in one sentence, and left as it is", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    await store.createRun(newRun("run-1"));
    await store.close();
    const raw = new DatabaseSync(file);
    raw.exec("CREATE TABLE from_the_future (a); PRAGMA user_version = 999;");
    raw.close();
    const before = readFileSync(file);
    const error: unknown = await openStore(`file:${file}`).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnusableError);
    expect(error).toMatchObject({
      message: `The database ${file} has schema 999 and this version of Pawl knows ${LATEST}: use a newer Pawl; nothing was changed.`,
      details: { reason: "newer_schema" },
      recoverable: false,
    });
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(join(file, ".."))).toEqual(["pawl.db", "pawl.db-shm", "pawl.db-wal"]);
  });
});

describe("a database of a version before the first release", () => {
  it("is refused in one sentence, and left as it is", async () => {
    const file = join(tempFolder(), "pawl.db");
    const raw = new DatabaseSync(file);
    // The mark of those versions, "Pawl" in ASCII, and their last schema number.
    raw.exec(
      "PRAGMA application_id = 0x5061776c; PRAGMA user_version = 7; CREATE TABLE runs (run_no INTEGER);",
    );
    raw.close();
    const before = readFileSync(file);
    for (const readOnly of [false, true]) {
      const error: unknown = await openStore(`file:${file}`, { readOnly }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreUnusableError);
      expect(error).toMatchObject({
        message: `The file ${file} is a database of a development version of Pawl, which this version cannot read: finish its runs with that version, and name another file for this one; it was left as it is.`,
        details: { reason: "development" },
      });
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("is refused in one sentence if its number is lower than the first one, and left as it is", async () => {
    const file = join(tempFolder(), "pawl.db");
    await (await openStore(`file:${file}`)).close();
    const raw = new DatabaseSync(file);
    raw.exec("DROP TABLE messages; PRAGMA user_version = 102; PRAGMA wal_checkpoint(TRUNCATE);");
    raw.close();
    const before = readFileSync(file);
    for (const readOnly of [false, true])
      await expect(openStore(`file:${file}`, { readOnly })).rejects.toMatchObject({
        name: "StoreUnusableError",
        message: `The database ${file} has schema 102, of a development version of Pawl, which this version cannot read: finish its runs with that version, and name another database for this one; it was left as it is.`,
        details: { reason: "development" },
      });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("refuses ours: the mark of the file is another one", async () => {
    const file = join(tempFolder(), "pawl.db");
    await (await openStore(`file:${file}`)).close();
    const raw = new DatabaseSync(file);
    const id = raw.prepare("PRAGMA application_id").get()?.application_id;
    raw.close();
    expect(id).not.toBe(0);
    expect(id).not.toBe(0x5061776c);
  });
});

describe("several processes that open a new file at once", () => {
  it("make one database, and all can work in it", async () => {
    for (let round = 0; round < 3; round++) {
      const file = join(tempFolder(), "pawl.db");
      const children = Array.from({ length: 5 }, (_, i) => Child.start("open-on-go", file, `run-${i}`));
      for (const child of children) expect(await child.line()).toBe("ready");
      for (const child of children) child.send("go");
      for (const child of children) expect(await child.line()).toBe("created");
      const store = await openStore(`file:${file}`);
      expect(await store.listRuns()).toHaveLength(children.length);
      await store.close();
    }
  });
});
