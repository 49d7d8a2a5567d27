import { type ChangedRun, type ChangeLog, cursorParts } from "../sql/change-log.ts";
import { all, get, type SqlScript } from "../sql/script.ts";

/** Transactions from `ahead` on were not begun when the snapshot was taken, and those in the list were not over. */
const SNAPSHOT = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS ahead,
    coalesce((SELECT string_agg(under_way::text, ',') FROM pg_snapshot_xip(pg_current_snapshot()) AS under_way), '') AS under_way`;
const LAST = `SELECT transaction_no, hash FROM events WHERE transaction_no IS NOT NULL
   ORDER BY transaction_no DESC, run_key DESC, seq DESC LIMIT 1`;
const IS_THERE = "SELECT 1 AS found FROM events WHERE transaction_no = ? AND hash = ?";
const SINCE = `SELECT run_id, count(*) AS events FROM (
      SELECT transaction_no, run_key FROM (
        SELECT transaction_no, run_key FROM events WHERE transaction_no = ANY(string_to_array(?, ',')::bigint[])
        UNION ALL SELECT transaction_no, run_key FROM events WHERE transaction_no >= ? AND transaction_no < ?) AS unseen
       LIMIT ?) AS recent
    JOIN runs USING (run_key) GROUP BY run_id ORDER BY max(transaction_no), run_id`;

const CURSOR = /^(\d{1,15})\[([\d,]*)\](?:(\d{1,15})\.([\da-f]{64}))?$/;

/**
 * PostgreSQL commits transactions in another order than they begin: what a reader has not seen is what its last snapshot did
 * not include. The last event that it saw is in the cursor, too: a server that has lost commits, in a failover, gives the
 * same numbers again.
 */
export const commitOrder: ChangeLog = {
  *end() {
    const { ahead, underWay } = yield* snapshot();
    const last = yield* get(LAST);
    const seen = last === null ? "" : `${last.int("transaction_no")}.${last.hex("hash")}`;
    return `${ahead}[${underWay}]${seen}`;
  },

  *since(cursor, mostEvents): SqlScript<readonly ChangedRun[] | null> {
    const [ahead = "", underWay = "", seen, hash] = cursorParts(CURSOR, cursor) ?? [];
    const now = yield* snapshot();
    // A database that was restored into another server has numbers that are still to come there.
    if (ahead === "" || Number(ahead) > now.ahead) return null;
    if (hash !== undefined && (yield* get(IS_THERE, Number(seen), Buffer.from(hash, "hex"))) === null)
      return null;
    const rows = yield* all(SINCE, underWay, Number(ahead), now.ahead, mostEvents);
    return rows.map((row) => ({ runId: row.text("run_id"), events: row.int("events") }));
  },
};

function* snapshot(): SqlScript<{ readonly ahead: number; readonly underWay: string }> {
  const row = yield* get(SNAPSHOT);
  if (row === null) throw new Error("The server has no snapshot.");
  return { ahead: row.int("ahead"), underWay: row.text("under_way") };
}
