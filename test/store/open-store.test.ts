import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join, posix, win32 } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { openStore, plainPath } from "../../src/store/open-store.ts";
import { newRun } from "../../src/testing/store/sample-run.ts";
import { tempFolder } from "./sqlite/temp-folder.ts";

describe("an invalid store address", () => {
  it.each([
    "",
    "pawl",
    "memory",
    "C:\\data\\pawl.db",
    ".\\pawl.db",
    "./pawl.db?mode=ro",
    "./folder/",
    "file:",
    "file://",
    "mysql://localhost/pawl",
    "http://localhost/pawl.db",
    "file://elsewhere/pawl.db",
    "file:./pawl.db?mode=ro",
    "file:///tmp/pawl.db#1",
    "file:///tmp/%zz.db",
    "file:./a\0b.db",
  ])("is refused in one sentence: %j", async (url) => {
    const error: unknown = await openStore(url).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as ConfigurationError).message).toBe(
      `${JSON.stringify(url)} is not an address of a store: use "file:./pawl.db" for a SQLite file, "postgres://user@host/database" for PostgreSQL, or ":memory:" for a test.`,
    );
  });
});

describe("a file", () => {
  it.each([
    ["a path after file:", (path: string) => `file:${path}`],
    ["a plain path", (path: string) => path],
    ["a URL", (path: string) => pathToFileURL(path).href],
    [
      "a URL with a host that is this one",
      (path: string) => pathToFileURL(path).href.replace("//", "//localhost"),
    ],
  ])("is named by %s, odd characters included", async (_, urlOf) => {
    const folder = join(tempFolder(), "my ünïcode folder %20");
    mkdirSync(folder);
    const file = join(folder, "my pawl.db");
    const store = await openStore(urlOf(file));
    await store.createRun(newRun("run-1"));
    await store.close();
    expect(existsSync(file)).toBe(true);
    expect(readdirSync(folder)).toEqual(["my pawl.db", "my pawl.db-shm", "my pawl.db-wal"]);
  });
});

describe("a folder that is missing", () => {
  it("is created with those above it, for its owner only", async () => {
    const folder = tempFolder();
    const store = await openStore(`file:${join(folder, "a/b/pawl.db")}`);
    await store.createRun(newRun("run-1"));
    await store.close();
    for (const each of ["a", "a/b"]) expect(statSync(join(folder, each)).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, "a/b"))).toContain("pawl.db");
    // Only the default store has a folder of its own, which git ignores.
    expect(readdirSync(join(folder, "a/b"))).not.toContain(".gitignore");
  });

  it("may be created by several processes at once", async () => {
    const url = `file:${join(tempFolder(), "a/b/pawl.db")}`;
    const stores = await Promise.all([openStore(url), openStore(url)]);
    expect(await Promise.all(stores.map((store) => store.listRuns()))).toEqual([[], []]);
    await Promise.all(stores.map((store) => store.close()));
  });

  it.each(["a/b/pawl.db", ".pawl/pawl.db", "pawl.db"])("is not created to read %s", async (path) => {
    const folder = tempFolder();
    const error: unknown = await openStore(`file:${join(folder, path)}`, { readOnly: true }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ name: "StoreUnavailableError", details: { reason: "missing" } });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("a plain path", () => {
  it.each([
    ["./pawl.db", posix, true],
    ["../data/runs", posix, true],
    ["/var/lib/pawl/runs", posix, true],
    ["pawl.db", posix, true],
    ["data/pawl.sqlite", posix, true],
    ["runs", posix, false],
    ["postgres://localhost/pawl.db", posix, false],
    ["C:\\data\\pawl.db", posix, false],
    ["C:\\data\\pawl.db", win32, true],
    [".\\pawl.db", win32, true],
    ["D:/data/runs", win32, true],
  ])("is taken only if it can be nothing else: %j", (url, paths, isTaken) => {
    expect(plainPath(url, paths)).toBe(isTaken ? url : null);
  });
});

describe(":memory:", () => {
  it("is a new store each time, and leaves no file", async () => {
    const [a, b] = [await openStore(":memory:"), await openStore(":memory:")];
    await a.createRun(newRun("run-1"));
    expect(await b.getRun("run-1")).toBeNull();
    await Promise.all([a.close(), b.close()]);
    expect(readdirSync(".").filter((name) => name.includes("memory"))).toEqual([]);
  });
});
