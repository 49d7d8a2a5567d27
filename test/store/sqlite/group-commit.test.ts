import { join } from "node:path";
import { setTimeout as sleep, setImmediate as tick } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { StoreUnavailableError } from "../../../src/core/errors.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { GroupCommit } from "../../../src/store/sqlite/group-commit.ts";
import { newRun } from "../../../src/testing/store/sample-run.ts";
import { Child } from "./child.ts";
import { tempFolder } from "./temp-folder.ts";

/** A database of two small tables, and a second connection that sees only what was committed. */
function openNotes(onCommit: () => void = () => undefined) {
  const file = join(tempFolder(), "notes.db");
  const database = Database.open(file);
  database.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT");
  database.exec("CREATE TABLE replies (note INTEGER NOT NULL REFERENCES notes (id)) STRICT");
  const outside = Database.open(file);
  onTestFinished(() => {
    database.close();
    outside.close();
  });
  const batches: (readonly string[])[] = [];
  const commits = new GroupCommit(
    database,
    new Map(),
    (intents) => {
      batches.push(intents);
      onCommit();
    },
    () => undefined,
  );
  return {
    file,
    database,
    commits,
    batches,
    /** Writes a note in the next transaction. */
    write: (text: string) =>
      commits.submit(text.slice(0, 10), () => database.run("INSERT INTO notes (text) VALUES (?)", text)),
    committed: () => outside.all("SELECT text FROM notes ORDER BY id").map((row) => row.text("text")),
  };
}

function outcomesOf(settled: readonly PromiseSettledResult<unknown>[]): string[] {
  return settled.map((outcome) => {
    if (outcome.status === "fulfilled") return "done";
    const reason: unknown = outcome.reason;
    return StoreUnavailableError.isInstance(reason) ? reason.details.reason : String(reason);
  });
}

describe("intents of one tick", () => {
  it("share one transaction", async () => {
    const { write, batches, committed } = openNotes();
    await Promise.all([write("a"), write("b"), write("c")]);
    expect(batches).toEqual([["a", "b", "c"]]);
    expect(committed()).toEqual(["a", "b", "c"]);
  });

  it("are separate from those of the next tick", async () => {
    const { write, batches } = openNotes();
    await write("a");
    await write("b");
    expect(batches).toEqual([["a"], ["b"]]);
  });

  it("share one transaction in the store too, however many runs there are", async () => {
    const batches: (readonly string[])[] = [];
    const store = await openStore(`file:${tempFolder()}/pawl.db`, {
      onCommit: (batch) => batches.push(batch),
    });
    await Promise.all(Array.from({ length: 100 }, (_, i) => store.createRun(newRun(`run-${i}`))));
    expect(batches).toEqual([Array.from({ length: 100 }, () => "createRun")]);
    await store.close();
  });

  it("are spread over several transactions when there are very many", async () => {
    const { write, batches, committed } = openNotes();
    const texts = Array.from({ length: 600 }, (_, i) => `note ${i}`);
    await Promise.all(texts.map(write));
    expect(batches.map((batch) => batch.length)).toEqual([256, 256, 88]);
    expect(committed()).toEqual(texts);
  });

  it("have no commit to wait for when all of them are refused", async () => {
    const { commits, batches, database } = openNotes();
    const settled = await Promise.allSettled(
      [1, 2].map(() =>
        commits.submit("refused", () => {
          throw new Error("No.");
        }),
      ),
    );
    expect(outcomesOf(settled)).toEqual(["Error: No.", "Error: No."]);
    expect(batches).toEqual([]);
    expect(database.inTransaction).toBe(false);
  });
});

describe("an intent that is refused", () => {
  it("rolls back all that it wrote, and nothing else", async () => {
    const { write, commits, database, batches, committed } = openNotes();
    const half = commits.submit("half", () => {
      database.run("INSERT INTO notes (text) VALUES ('half')");
      throw new Error("Not the rest.");
    });
    const settled = await Promise.allSettled([write("a"), half, write("a"), write("b")]);
    expect(outcomesOf(settled)).toEqual([
      "done",
      "Error: Not the rest.",
      "Error: UNIQUE constraint failed: notes.text",
      "done",
    ]);
    expect(committed()).toEqual(["a", "b"]);
    expect(batches).toEqual([["a", "b"]]);
  });

  it("rolls back all that it wrote when it is alone", async () => {
    const { commits, database, committed, write } = openNotes();
    const alone = commits.submit("alone", () => {
      database.run("INSERT INTO notes (text) VALUES ('half')");
      throw new Error("Not the rest.");
    });
    await expect(alone).rejects.toThrow("Not the rest.");
    expect(database.inTransaction).toBe(false);
    await write("a");
    expect(committed()).toEqual(["a"]);
  });
});

describe("a full disk", () => {
  const LARGE = "x".repeat(200_000);

  /** From now on the database may not grow by more than a page. */
  function fill(database: Database): void {
    const pages = database.get("PRAGMA page_count")?.int("page_count") ?? 0;
    database.exec(`PRAGMA max_page_count = ${pages + 1}`);
  }

  it("drops the whole transaction: every intent of the batch fails, and nothing is stored", async () => {
    const { write, database, batches, committed } = openNotes();
    await write("before");
    fill(database);
    const settled = await Promise.allSettled([write("a"), write(LARGE), write("b")]);
    expect(outcomesOf(settled)).toEqual(["full", "full", "full"]);
    expect(committed()).toEqual(["before"]);
    expect(batches).toEqual([["before"]]);
    expect(database.inTransaction).toBe(false);
  });

  it("fails an intent that is alone in its transaction too", async () => {
    const { write, database, committed } = openNotes();
    fill(database);
    const error: unknown = await write(LARGE).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).message).toMatch(
      /^The disk .* is full: nothing was written; .*\.$/,
    );
    expect((error as StoreUnavailableError).recoverable).toBe(true);
    expect(committed()).toEqual([]);
  });

  it("ends once there is room: the same intents succeed", async () => {
    const { write, database, committed } = openNotes();
    fill(database);
    await Promise.allSettled([write("a"), write(LARGE)]);
    database.exec("PRAGMA max_page_count = 1000000");
    await Promise.all([write("a"), write(LARGE)]);
    expect(committed()).toEqual(["a", LARGE]);
  });

  it("fails one intent alone if SQLite rolls back only its statement", async () => {
    const { write, commits, database, committed } = openNotes();
    fill(database);
    // A statement of several rows that can fail half-way keeps a journal of its own, so the transaction survives.
    const many = commits.submit("many", () =>
      database.run("INSERT INTO notes (text) SELECT ? || value FROM json_each('[1,2,3]')", LARGE),
    );
    const settled = await Promise.allSettled([write("a"), many, write("b")]);
    expect(outcomesOf(settled)).toEqual(["done", "full", "done"]);
    expect(committed()).toEqual(["a", "b"]);
  });
});

describe("nothing is acknowledged before COMMIT", () => {
  it("so when COMMIT fails every intent of the batch does, and nothing is stored", async () => {
    const { write, commits, database, batches, committed } = openNotes();
    // A foreign key that is checked at the end of the transaction passes its own savepoint and breaks the COMMIT.
    const dangling = commits.submit("dangling", () => {
      database.exec("PRAGMA defer_foreign_keys = ON");
      return database.run("INSERT INTO replies VALUES (99)");
    });
    const settled = await Promise.allSettled([write("a"), dangling, write("b")]);
    expect(outcomesOf(settled)).toEqual(Array(3).fill("Error: FOREIGN KEY constraint failed"));
    expect(committed()).toEqual([]);
    expect(batches).toEqual([]);
    expect(database.inTransaction).toBe(false);
    await write("c");
    expect(committed()).toEqual(["c"]);
  });

  it("and a disk that fails in the COMMIT is reported as an unknown outcome", async () => {
    const { write, database, committed } = openNotes();
    const run = database.run.bind(database);
    let failures = 1;
    vi.spyOn(database, "run").mockImplementation((text, ...values) => {
      if (text === "COMMIT" && failures-- > 0)
        throw Object.assign(new Error("disk I/O error"), { errcode: 1034 });
      return run(text, ...values);
    });
    await expect(write("a")).rejects.toMatchObject({
      code: "store_unavailable",
      details: { reason: "commit_unknown" },
      message: expect.stringContaining("it is unknown whether it was stored") as string,
    });
    await write("b");
    expect(committed()).toEqual(["b"]);
  });

  it("and an acknowledged write is visible from outside at that moment", async () => {
    const { write, committed } = openNotes();
    const seen: string[][] = [];
    await Promise.all(["a", "b"].map((text) => write(text).then(() => seen.push(committed()))));
    expect(seen).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
  });

  it("and survives a SIGKILL", async () => {
    const file = join(tempFolder(), "pawl.db");
    const child = Child.start("create-runs", file);
    const acknowledged: string[] = [await child.line()];
    setTimeout(() => void child.kill(), 200);
    acknowledged.push(...(await child.rest()));
    const store = await openStore(`file:${file}`);
    for (const runId of acknowledged) expect((await store.getRun(runId))?.runId).toBe(runId);
    expect(acknowledged.length).toBeGreaterThan(3);
    await store.close();
  });
});

describe("the answers of a large batch", () => {
  const TEXTS = Array.from({ length: 40 }, (_, i) => `note ${i}`);

  /** Resolves when the first of them was answered. */
  async function firstSlice(write: (text: string) => Promise<unknown>): Promise<string[]> {
    const answered: string[] = [];
    const writes = TEXTS.map((text) => write(text).then(() => answered.push(text)));
    await writes[0];
    return answered;
  }

  it("are given a few in a tick, in order, so that the event loop continues in between", async () => {
    const { write, batches } = openNotes();
    const answered = await firstSlice(write);
    const seen: number[] = [];
    while (answered.length < TEXTS.length) {
      seen.push(answered.length);
      await tick();
    }
    expect([...new Set(seen)]).toEqual([16, 32]);
    expect(answered).toEqual(TEXTS);
    expect(batches.map((batch) => batch.length)).toEqual([40]);
  });

  it("are all given before the next transaction, so that it has the writes of all of them", async () => {
    const { write, batches } = openNotes();
    await Promise.all(TEXTS.map((text) => write(text).then(() => write(`after ${text}`))));
    expect(batches.map((batch) => batch.length)).toEqual([40, 40]);
  });

  it("are all given by a store that closes", async () => {
    const { write, commits } = openNotes();
    const answered = await firstSlice(write);
    expect(answered.length).toBeLessThan(TEXTS.length);
    commits.close();
    await Promise.resolve();
    expect(answered).toEqual(TEXTS);
  });

  it("are not given by a process that was killed in between, and the writes are stored", async () => {
    const { write, commits, committed } = openNotes();
    const answered = await firstSlice(write);
    commits.abandon();
    for (let ticks = 0; ticks < 5; ticks++) await tick();
    expect(answered).toEqual(TEXTS.slice(0, 16));
    expect(committed()).toEqual(TEXTS);
  });

  it("are given whatever an observer throws", async () => {
    const { write } = openNotes(() => {
      throw new Error("Observed.");
    });
    expect(outcomesOf(await Promise.allSettled(TEXTS.map(write)))).toEqual(TEXTS.map(() => "done"));
  });
});

describe("another process that holds the write lock", () => {
  it("is waited for without blocking this one", async () => {
    const file = join(tempFolder(), "pawl.db");
    const store = await openStore(`file:${file}`);
    const child = Child.start("hold-write-lock", file, "300");
    expect(await child.line()).toBe("locked");
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 5);
    let done = false;
    const created = store.createRun(newRun("run-1")).then((outcome) => {
      done = true;
      return outcome;
    });
    // Readers do not wait for writers.
    expect(await store.getRun("run-1")).toBeNull();
    await sleep(100);
    expect(done).toBe(false);
    expect((await created).kind).toBe("created");
    expect(await child.line()).toBe("free");
    clearInterval(timer);
    expect(ticks).toBeGreaterThanOrEqual(5);
    await store.close();
  });

  it("delays opening the store no longer than it writes", async () => {
    const file = join(tempFolder(), "pawl.db");
    await (await openStore(`file:${file}`)).close();
    const child = Child.start("hold-write-lock", file, "200");
    expect(await child.line()).toBe("locked");
    const store = await openStore(`file:${file}`);
    expect((await store.createRun(newRun("run-1"))).kind).toBe("created");
    await store.close();
  });
});

describe("closing", () => {
  it("commits all queued intents", async () => {
    const { write, commits, committed } = openNotes();
    const pending = Array.from({ length: 600 }, (_, i) => write(`note ${i}`));
    const refused = write("note 1");
    commits.close();
    await Promise.all(pending);
    await expect(refused).rejects.toThrow(/UNIQUE/);
    expect(committed()).toHaveLength(600);
    await expect(write("late")).rejects.toThrow(/is closed/);
  });

  it("refuses intents that can no longer be committed", async () => {
    const { file, write, commits } = openNotes();
    const child = Child.start("hold-write-lock", file, "2000");
    expect(await child.line()).toBe("locked");
    const pending = Promise.allSettled([write("a"), write("b")]);
    commits.close();
    expect(outcomesOf(await pending)).toEqual(["closed", "closed"]);
  });
});
