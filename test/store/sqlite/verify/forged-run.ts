import { DatabaseSync } from "node:sqlite";
import { Database } from "../../../../src/store/sqlite/database.ts";
import { readCoveredRow } from "../../../../src/store/sqlite/tables/event-rows.ts";
import { chainHash, NO_EVENT_HASH } from "../../../../src/store/sqlite/tables/run-row.ts";

/** Changes the row of the one run in the file, and rebuilds its events to match: the chain is not signed. */
export function forgeRun(file: string, change: string, ...values: readonly string[]): void {
  const raw = new DatabaseSync(file);
  raw.prepare(change).run(...values);
  raw.close();
  const database = Database.open(file);
  const run = database.get("SELECT run_no, run_id FROM runs");
  const runNo = run?.int("run_no") ?? 0;
  const [row] = readCoveredRow(database, run?.text("run_id") ?? "", { kind: "run", key: [runNo] });
  let hash: Uint8Array = NO_EVENT_HASH;
  for (const event of database.all("SELECT * FROM events WHERE run_no = ? ORDER BY seq", runNo)) {
    const data = JSON.parse(event.text("data")) as { rows?: [string, string][] };
    const rows = data.rows?.map((covered) => (covered[0] === "run" && row !== undefined ? row : covered));
    const text = JSON.stringify(rows === undefined ? data : { ...data, rows });
    const [seq, at, type] = [event.int("seq"), event.int("created_at"), event.text("type")];
    hash = chainHash(hash, seq, at, type, text);
    database.run("UPDATE events SET data = ?, hash = ? WHERE run_no = ? AND seq = ?", text, hash, runNo, seq);
  }
  database.run("UPDATE runs SET event_hash = ? WHERE run_no = ?", hash, runNo);
  database.close();
}
