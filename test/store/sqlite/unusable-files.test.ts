import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { PawlError } from "../../../src/core/errors.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { newRun } from "../../../src/testing/store/sample-run.ts";
import { Child } from "./child.ts";
import { tempFolder } from "./temp-folder.ts";

/** One sentence that names the file and says what to do. */
function expectOneSentence(message: string, file: string): void {
  expect(message).toContain(file);
  // The path of a file to use instead has a dot, too.
  const sentence = message.replaceAll(file, "").replace("/pawl.db", "");
  expect(sentence).toMatch(/^[A-Z][^.\n]*: [^.\n]*\.$/);
}

async function makeStore(file: string, runs = 300): Promise<Buffer> {
  const store = await openStore(`file:${file}`);
  await Promise.all(Array.from({ length: runs }, (_, i) => store.createRun(newRun(`run-${i}`))));
  await store.close();
  return readFileSync(file);
}

/** Asserts that opening the file fails with one sentence, and that it and its folder are unchanged. */
async function expectUnusable(file: string, name: string, reason: string): Promise<void> {
  const before = readFileSync(file);
  const error: unknown = await openStore(`file:${file}`).catch((thrown: unknown) => thrown);
  if (!PawlError.isInstance(error)) throw new Error(`Not a typed error: ${String(error)}`);
  expect([error.name, error.details.reason]).toEqual([name, reason]);
  expectOneSentence(error.message, file);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(join(file, ".."))).toEqual(["pawl.db"]);
}

/** Every kind of damage that SQLite detects at once. */
const DAMAGED: { readonly [what: string]: (intact: Buffer) => Buffer } = {
  "a text": () => Buffer.from("Dear diary,\n".repeat(1_000)),
  "a very short text": () => Buffer.from("hi"),
  "a database cut off in its header": (intact) => intact.subarray(0, 60),
  "a database cut off after its first page": (intact) => intact.subarray(0, 4_096),
  "a database cut off in the middle": (intact) =>
    intact.subarray(0, 4_096 * Math.floor(intact.length / 8_192)),
  "a database whose header was overwritten": (intact) =>
    Buffer.concat([Buffer.alloc(100, 7), intact.subarray(100)]),
  "a database whose first page was overwritten": (intact) =>
    Buffer.concat([intact.subarray(0, 100), Buffer.alloc(3_996, 7), intact.subarray(4_096)]),
  "a database whose pages were zeroed": (intact) =>
    Buffer.concat([intact.subarray(0, 4_096), Buffer.alloc(intact.length - 4_096)]),
};

describe("a file that is not an intact database is refused and left as it is:", () => {
  it.each(Object.entries(DAMAGED))("%s", async (_, damage) => {
    const intact = await makeStore(join(tempFolder(), "pawl.db"));
    const file = join(tempFolder(), "pawl.db");
    writeFileSync(file, damage(intact));
    await expectUnusable(file, "StoreUnusableError", "corrupt");
  });

  it("a database damaged where opening does not look: the first read of it reports it", async () => {
    const intact = await makeStore(join(tempFolder(), "pawl.db"));
    const file = join(tempFolder(), "pawl.db");
    const pages = Math.floor(intact.length / 4_096);
    const half = Math.floor(pages / 2) * 4_096;
    // The schema's pages come first and stay; the pages of the runs are overwritten.
    const damaged = Buffer.concat([intact.subarray(0, half), Buffer.alloc(intact.length - half, 0xff)]);
    writeFileSync(file, damaged);
    const store = await openStore(`file:${file}`);
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 300 }, (_, i) => store.readRunInput(`run-${i}`)),
      store.listRuns(),
    ]);
    const reasons = outcomes.flatMap((each): unknown[] => (each.status === "rejected" ? [each.reason] : []));
    expect(reasons.length).toBeGreaterThan(0);
    for (const reason of reasons) {
      if (!PawlError.isInstance(reason)) throw new Error(`Not a typed error: ${String(reason)}`);
      expect([reason.name, reason.details.reason]).toEqual(["StoreUnusableError", "corrupt"]);
      expectOneSentence(reason.message, file);
    }
    await store.close();
    expect(readFileSync(file).equals(damaged)).toBe(true);
  });
});

describe("a database that is not ours is refused and left as it is:", () => {
  it.each([
    ["of a program that says who it is", "PRAGMA application_id = 42; CREATE TABLE theirs (a);"],
    [
      "of a program that does not",
      "CREATE TABLE runs (id INTEGER PRIMARY KEY); INSERT INTO runs VALUES (1);",
    ],
    ["empty, of a program that says who it is", "PRAGMA application_id = 42;"],
  ])("%s", async (_, sql) => {
    const file = join(tempFolder(), "pawl.db");
    const theirs = new DatabaseSync(file);
    theirs.exec(sql);
    theirs.close();
    await expectUnusable(file, "StoreUnusableError", "foreign");
  });
});

describe("an empty file", () => {
  it("becomes a store", async () => {
    const file = join(tempFolder(), "pawl.db");
    writeFileSync(file, "");
    const store = await openStore(`file:${file}`);
    expect((await store.createRun(newRun("run-1"))).kind).toBe("created");
    await store.close();
  });
});

describe("a path that cannot be a file", () => {
  it.each([
    ["a folder", (folder: string) => folder],
    ["below a file", (folder: string) => join(folder, "file", "pawl.db")],
    ["in a folder below a file", (folder: string) => join(folder, "file", "folder", "pawl.db")],
  ])("is refused: %s", async (_, pathIn) => {
    const folder = tempFolder();
    writeFileSync(join(folder, "file"), "text");
    const file = pathIn(folder);
    const error: unknown = await openStore(`file:${file}`).catch((thrown: unknown) => thrown);
    if (!PawlError.isInstance(error)) throw new Error(`Not a typed error: ${String(error)}`);
    expect([error.name, error.details.reason]).toEqual(["StoreUnavailableError", "cannot_open"]);
    expectOneSentence(error.message, file);
    expect(readdirSync(folder)).toEqual(["file"]);
  });
});

type Attempt = {
  skipped?: string;
  error?: string;
  message?: string;
  details?: { reason: string };
  kind?: string;
};

/** The result of writing to the store as a user to whom file modes apply. */
async function writeWithoutRights(file: string, runId: string): Promise<Attempt> {
  return JSON.parse(await Child.start("write-without-rights", file, runId).line()) as Attempt;
}

describe("a store that this user may not write to", () => {
  const NOBODY = 65_534;
  const give = (path: string, mode: number) => {
    if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
    chmodSync(path, mode);
  };

  it.for([
    ["the file is read-only", 0o444, 0o755],
    ["the file and its folder are read-only", 0o444, 0o555],
    ["the file may not be read either", 0o000, 0o755],
  ] as const)(
    "is refused in one sentence, and nothing is lost: %s",
    async ([, fileMode, folderMode], context) => {
      const folder = join(tempFolder(), "store");
      mkdirSync(folder);
      const file = join(folder, "pawl.db");
      const before = await makeStore(file, 3);
      for (const name of readdirSync(folder)) give(join(folder, name), 0o644);
      give(file, fileMode);
      give(folder, folderMode);
      chmodSync(join(folder, ".."), 0o755);
      const { skipped, error, message = "", details } = await writeWithoutRights(file, "run-late");
      give(folder, 0o755);
      if (skipped !== undefined) return context.skip(skipped);
      expect([error, details?.reason]).toEqual(["StoreUnavailableError", "read_only"]);
      expectOneSentence(message, file);
      give(file, 0o644);
      expect(readFileSync(file).equals(before)).toBe(true);
      expect((await writeWithoutRights(file, "run-late")).kind).toBe("created");
    },
  );
});
