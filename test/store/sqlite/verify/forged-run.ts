import { DatabaseSync } from "node:sqlite";
import { chainHash, NO_EVENT_HASH } from "../../../../src/core/event-chain.ts";
import { RUN_ROW } from "../../../../src/store/sql/covered-rows.ts";
import { storedRunFacts } from "../../../../src/store/sql/tables/run-columns.ts";
import { Database } from "../../../../src/store/sqlite/database.ts";

/** Changes the row of the one run in the file, and rebuilds its events to match: the chain is not signed. */
export function forgeRun(file: string, change: string, ...values: readonly string[]): void {
  const raw = new DatabaseSync(file);
  raw.prepare(change).run(...values);
  raw.close();
  const database = Database.open(file);
  const run = database.get("SELECT * FROM runs");
  if (run === null) throw new Error("The file has no run.");
  const [key, { digest }] = [run.int("run_key"), storedRunFacts(run)];
  let hash: Uint8Array = NO_EVENT_HASH;
  for (const event of database.all("SELECT * FROM events WHERE run_key = ? ORDER BY seq", key)) {
    const data = JSON.parse(event.text("data")) as { rows?: [string, string][] };
    const rows = data.rows?.map((covered) => (covered[0] === RUN_ROW ? [RUN_ROW, digest] : covered));
    const text = JSON.stringify(rows === undefined ? data : { ...data, rows });
    const [seq, at, type] = [event.int("seq"), event.int("created_at"), event.text("type")];
    hash = chainHash(hash, seq, at, type, text);
    database.run("UPDATE events SET data = ?, hash = ? WHERE run_key = ? AND seq = ?", text, hash, key, seq);
  }
  database.run("UPDATE runs SET event_hash = ? WHERE run_key = ?", hash, key);
  database.close();
}
