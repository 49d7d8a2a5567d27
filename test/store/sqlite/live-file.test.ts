import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { LiveBuffer } from "../../../src/store/live/live-buffer.ts";
import type { LiveAttempt, LiveParts } from "../../../src/store/live-parts.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { LiveFile, type LiveFileOptions } from "../../../src/store/sqlite/live-file.ts";
import { newRun } from "../../../src/testing/store/sample-run.ts";
import { tempFolder } from "./temp-folder.ts";

const ATTEMPT: LiveAttempt = { runId: "q-1", step: "clerk", turn: 1, attempt: 1, epoch: 1 };

function open(file: string, options: LiveFileOptions = {}): LiveParts {
  const live = new LiveBuffer(new LiveFile(file, options));
  onTestFinished(() => live.close());
  return live;
}

function fileName(): string {
  return join(tempFolder(), "pawl.db-live");
}

/** Says something in an answer of its own, and returns what went wrong, once. */
function say(live: LiveParts, delta: string, over: Partial<LiveAttempt> = {}): string[] {
  const troubles: string[] = [];
  const sink = live.begin({ ...ATTEMPT, ...over }, (reason) => troubles.push(reason));
  sink.part({ part: 0, kind: "text", delta });
  return troubles;
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await isTrue()); looks++) {
    if (looks > 500) throw new Error("It did not happen.");
    await sleep(10);
  }
}

async function said(live: LiveParts, after = 0): Promise<string> {
  const rows = await live.read([{ runId: "q-1", after }]);
  return rows.flatMap(({ parts }) => parts.map(({ delta }) => delta)).join("");
}

const isSaid = (live: LiveParts, text: string) => until(async () => (await said(live)).endsWith(text));

describe("the file of live parts", () => {
  it("is made when there is something to write, for its owner alone", async () => {
    const folder = tempFolder();
    const store = await openStore(`file:${folder}/pawl.db`);
    await store.createRun(newRun("q-1"));
    const file = join(folder, "pawl.db-live");
    expect(await store.live?.read([{ runId: "q-1", after: 0 }])).toEqual([]);
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
    say(store.live ?? expect.fail(), "Hello");
    await isSaid(store.live ?? expect.fail(), "Hello");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await store.isOwnFile(file)).toBe(true);
    await store.close();
  });

  it("costs no durable commit, and never waits for the disk", async () => {
    const commits: (readonly string[])[] = [];
    const folder = tempFolder();
    const store = await openStore(`file:${folder}/pawl.db`, { onCommit: (intents) => commits.push(intents) });
    const before = commits.length;
    const database = statSync(join(folder, "pawl.db-wal")).size;
    for (let i = 0; i < 20; i++) say(store.live ?? expect.fail(), `answer ${i}`, { attempt: i + 1 });
    await isSaid(store.live ?? expect.fail(), "answer 19");
    expect(commits).toHaveLength(before);
    expect(statSync(join(folder, "pawl.db-wal")).size).toBe(database);
    await store.close();
  });

  it("may be deleted at any time: the next piece is in another one, under a higher number", async () => {
    const file = fileName();
    const [live, other] = [open(file), open(file, { isReadOnly: true })];
    say(live, "before");
    await isSaid(other, "before");
    const [row] = await live.read([{ runId: "q-1", after: 0 }]);
    rmSync(file);
    expect(await said(other)).toBe("");
    expect(say(live, "after")).toEqual([]);
    await until(async () => (await said(other, row?.no)) === "after");
  });

  it("may be replaced by that of another process", async () => {
    const file = fileName();
    const [live, other] = [open(file), open(file)];
    say(live, "one");
    await isSaid(live, "one");
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
    say(other, "two");
    await isSaid(live, "two");
    expect(say(live, "three", { attempt: 2 })).toEqual([]);
    await isSaid(other, "three");
  });

  it("is replaced if it is damaged and ours", async () => {
    const file = fileName();
    const first = open(file);
    say(first, "one");
    await isSaid(first, "one");
    await first.close();
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 7)]));
    const live = open(file);
    expect(say(live, "two")).toEqual([]);
    await isSaid(live, "two");
  });

  it.each([
    [
      "garbage",
      (file: string) => writeFileSync(file, "This is my diary.\n".repeat(300)),
      /not an intact SQLite database$/,
    ],
    ["another program's database", makeForeign, /database of another program/],
    ["a folder", (file: string) => mkdirSync(file), /because it is a folder$/],
  ])("is left alone if it is %s, with one reason for each answer", async (_what, make, reason) => {
    const file = fileName();
    make(file);
    const before = statSync(file).isFile() ? readFileSync(file) : null;
    const live = open(file);
    const troubles = say(live, "Hello");
    await until(() => troubles.length > 0);
    expect(troubles).toEqual([expect.stringMatching(reason)]);
    expect(troubles[0]).not.toMatch(/\.$/);
    expect(say(live, "again", { attempt: 2 })).toEqual(troubles);
    expect(await said(live)).toBe("");
    if (before !== null) expect(readFileSync(file)).toEqual(before);
  });

  it("that is full ends the show, and says so once", async () => {
    const live = open(fileName(), { maxPages: 6 });
    const troubles: string[] = [];
    const sink = live.begin(ATTEMPT, (reason) => troubles.push(reason));
    await until(() => {
      sink.part({ part: 0, kind: "text", delta: "x".repeat(8_000) });
      return troubles.length > 0;
    });
    sink.part({ part: 0, kind: "text", delta: "more" });
    expect(troubles).toEqual([expect.stringMatching(/is full$/)]);
  });

  it("that another program has locked keeps the pieces until it is free", async () => {
    const file = fileName();
    const live = open(file);
    say(live, "one");
    await isSaid(live, "one");
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    const troubles = say(live, "two", { attempt: 2 });
    await sleep(150);
    expect(await said(live)).toBe("one");
    other.exec("COMMIT");
    other.close();
    await isSaid(live, "two");
    expect(troubles).toEqual([]);
  });

  it("is swept of answers that nobody has touched for an hour", async () => {
    const file = fileName();
    const first = open(file);
    say(first, "old");
    await isSaid(first, "old");
    await first.close();
    const database = new DatabaseSync(file);
    database.exec("UPDATE live SET at = at - 3700000");
    database.close();
    const live = open(file);
    say(live, "new", { runId: "q-2" });
    await until(async () => (await live.read([{ runId: "q-2", after: 0 }])).length > 0);
    expect(await said(live)).toBe("");
  });

  it("loses what a deleted run said", async () => {
    const folder = tempFolder();
    const store = await openStore(`file:${folder}/pawl.db`);
    const live = store.live ?? expect.fail();
    await store.createRun(newRun("q-1"));
    await store.releaseRun(
      { runId: "q-1", epoch: 1 },
      { status: "failed", error: { code: "x", message: "x", details: {} } },
    );
    say(live, "secret");
    await isSaid(live, "secret");
    await store.deleteRun("q-1", { why: "test" });
    await until(async () => (await said(live)) === "");
    await store.close();
  });
});

function makeForeign(file: string): void {
  const database = new DatabaseSync(file);
  database.exec("CREATE TABLE diary (day TEXT)");
  database.close();
}
