import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { StoreUnusableError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { tempFolder } from "./temp-folder.ts";

function open(): Database {
  const database = Database.open(join(tempFolder(), "pawl.db"));
  onTestFinished(() => database.close());
  return database;
}

describe("a connection", () => {
  it("has durable commits and foreign keys enabled", () => {
    const database = open();
    const pragma = (name: string) => Object.values(database.sql(`PRAGMA ${name}`).get() ?? {})[0];
    expect(pragma("journal_mode")).toBe("wal");
    expect(pragma("synchronous")).toBe(2);
    expect(pragma("foreign_keys")).toBe(1);
    expect(pragma("busy_timeout")).toBeLessThanOrEqual(50);
  });

  it("reads one state in a snapshot, and leaves no transaction when the reader throws", () => {
    const database = open();
    const other = Database.open(database.file);
    database.exec("CREATE TABLE notes (text TEXT) STRICT");
    const count = () => database.get("SELECT count(*) AS n FROM notes")?.int("n");
    const counts = database.snapshot(() => {
      const before = count();
      other.run("INSERT INTO notes VALUES ('late')");
      return [before, count()];
    });
    expect([...counts, count()]).toEqual([0, 0, 1]);
    expect(() =>
      database.snapshot(() => {
        throw new Error("No.");
      }),
    ).toThrow("No.");
    expect(database.inTransaction).toBe(false);
    other.close();
  });
});

describe("a row", () => {
  it("returns the values of its columns", () => {
    const row = open().get("SELECT 1 AS i, 'a' AS t, x'00ff' AS b, NULL AS n");
    expect([row?.int("i"), row?.text("t"), row?.hex("b")]).toEqual([1, "a", "00ff"]);
    expect([row?.optionalInt("n"), row?.optionalText("n"), row?.optionalBytes("n")]).toEqual([
      null,
      null,
      null,
    ]);
    expect([row?.optionalInt("i"), row?.optionalText("t"), row?.optionalBytes("b")?.byteLength]).toEqual([
      1,
      "a",
      2,
    ]);
  });

  it("throws if a column does not match the schema", () => {
    const row = open().get("SELECT 'a' AS i, 1 AS t, 'a' AS b, NULL AS n");
    const reads = [
      () => row?.int("i"),
      () => row?.text("t"),
      () => row?.bytes("b"),
      () => row?.int("n"),
      () => row?.optionalInt("i"),
      () => row?.text("nowhere"),
    ];
    for (const read of reads) expect(read).toThrow(StoreUnusableError);
    expect(() => row?.int("i")).toThrow(
      /^A row of the database holds string in i where an integer belongs: .*\.$/,
    );
  });
});
