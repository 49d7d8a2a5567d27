import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { BUNDLE_TABLES } from "../../../src/store/sql/bundle-tables.ts";
import { tempFolder } from "./temp-folder.ts";
import { editor, writeRuns } from "./verify/tampered-store.ts";

/** Every row of every table, as text, by the number of its run. */
function rowsByRun(database: DatabaseSync): Map<string, string[]> {
  const rows = new Map<string, string[]>();
  for (const table of BUNDLE_TABLES)
    for (const row of database.prepare(`SELECT * FROM ${table}`).all()) {
      const key = String(row.run_key);
      const text = JSON.stringify([table, row], (_, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
      );
      rows.set(key, [...(rows.get(key) ?? []), text]);
    }
  return rows;
}

it("a deletion removes every row of its run, and no row of another one", async () => {
  const file = join(tempFolder(), "pawl.db");
  await writeRuns(file);
  const store = await openStore(`file:${file}`);
  await store.requestCancel("mail");
  const database = editor(file);
  try {
    for (const runId of ["job", "session", "ledger", "run-1", "mail"]) {
      const record = await store.getRun(runId);
      if (record?.status === "running") await store.requestCancel(runId);
      const key = String(database.prepare("SELECT run_key FROM runs WHERE run_id = ?").get(runId)?.run_key);
      const before = rowsByRun(database);
      expect(before.get(key)?.length).toBeGreaterThan(5);
      await store.deleteRun(runId, { why: "a test" });
      before.delete(key);
      expect(rowsByRun(database)).toEqual(before);
      expect(database.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
    }
    expect((await store.verify("job-fork")).problems).toEqual([]);
    expect(await store.listTombstones()).toHaveLength(5);
  } finally {
    database.close();
    await store.close();
  }
});
