import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { StoreUnusableError } from "../../../../src/core/errors.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";
import { tempFolder } from "../temp-folder.ts";
import { editor, writeRuns } from "./tampered-store.ts";

async function damaged(damage: (file: string) => void): Promise<readonly string[]> {
  const file = join(tempFolder(), "pawl.db");
  await writeRuns(file);
  damage(file);
  const store = await openStore(`file:${file}`);
  onTestFinished(() => store.close());
  return store.checkIntegrity();
}

it("a database that was not tampered with is intact", async () => {
  expect(await damaged(() => undefined)).toEqual([]);
});

it("a row that refers to a missing one is reported, by its table", async () => {
  const problems = await damaged((file) => {
    const database = editor(file);
    database.exec("DELETE FROM tool_calls WHERE call_no IN (1, 2)");
    database.close();
  });
  expect(problems).toContain("A row of receipts refers to one of tool_calls that is not there.");
  expect(new Set(problems).size).toBe(problems.length);
});

it("a value that no row may have is reported", async () => {
  const problems = await damaged((file) => {
    const database = editor(file);
    database.exec("UPDATE runs SET status = 'odd' WHERE run_id = 'open'");
    database.close();
  });
  expect(problems).toEqual([expect.stringMatching(/CHECK .* runs/)]);
});

it("a page that a disk has damaged makes the file unusable, and that is reported", async () => {
  const spoil = (file: string) => {
    const database = editor(file);
    const root = database.prepare("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'events'").get();
    const size = database.prepare("PRAGMA page_size").get();
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    const handle = openSync(file, "r+");
    writeSync(handle, Buffer.alloc(16, 0xff), 0, 16, (Number(root?.page) - 1) * Number(size?.page_size));
    closeSync(handle);
  };
  await expect(damaged(spoil)).rejects.toBeInstanceOf(StoreUnusableError);
});

it("checking changes nothing, and blocks no one", async () => {
  const store = await openStore(":memory:");
  onTestFinished(() => store.close());
  const run = await SampleRun.create(store);
  await Promise.all([run.committed(1), store.checkIntegrity(), store.listEvents(run.runId)]);
  expect(await store.checkIntegrity()).toEqual([]);
  expect((await store.verify(run.runId)).problems).toEqual([]);
});
