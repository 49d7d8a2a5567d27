import { type ChangedRun, type ChangeLog, cursorParts, type LogPage, logEntry } from "../sql/change-log.ts";
import { all, get, type SqlScript } from "../sql/script.ts";
import type { RunChangeCursor } from "../store.ts";

/**
 * Transactions from `ahead` on were not begun when the snapshot was taken, and those in the list were not over. That of the
 * reader itself is one of them, if it writes: it may be shared with intents that write events after this.
 */
const SNAPSHOT = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS ahead,
    coalesce((SELECT string_agg(under_way::text, ',') FROM (
      SELECT pg_snapshot_xip(pg_current_snapshot()) UNION SELECT pg_current_xact_id_if_assigned()) AS listed (under_way)), '') AS under_way`;
const LAST = `SELECT transaction_no, hash FROM events WHERE transaction_no IS NOT NULL
   ORDER BY transaction_no DESC, run_key DESC, seq DESC LIMIT 1`;
const IS_THERE = "SELECT 1 AS found FROM events WHERE transaction_no = ? AND hash = ?";
const SINCE = `SELECT run_id, count(*) AS events FROM (
      SELECT transaction_no, run_key FROM (
        SELECT transaction_no, run_key FROM events WHERE transaction_no = ANY(string_to_array(?, ',')::bigint[])
        UNION ALL SELECT transaction_no, run_key FROM events WHERE transaction_no >= ? AND transaction_no < ?) AS unseen
       LIMIT ?) AS recent
    JOIN runs USING (run_key) GROUP BY run_id ORDER BY max(transaction_no), run_id`;
/** What the snapshot of the cursor did not include, of transactions before a number. */
const UNSEEN = `(SELECT transaction_no, run_key, seq, created_at, type, data, hash FROM events
       WHERE transaction_no = ANY(string_to_array(?, ',')::bigint[])
      UNION ALL SELECT transaction_no, run_key, seq, created_at, type, data, hash FROM events
       WHERE transaction_no >= ? AND transaction_no < ?) AS unseen`;
const NTH = `SELECT transaction_no FROM ${UNSEEN} ORDER BY transaction_no LIMIT 1 OFFSET ?`;
const PAGE = `SELECT transaction_no, run_id, seq, unseen.created_at, type, data, hash FROM ${UNSEEN}
    JOIN runs USING (run_key) WHERE transaction_no < ? ORDER BY transaction_no, run_key, seq`;

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
    const now = yield* snapshot();
    const place = yield* placeOf(cursor, now);
    if (place === null) return null;
    const rows = yield* all(SINCE, place.underWay, place.ahead, now.ahead, mostEvents);
    return rows.map((row) => ({ runId: row.text("run_id"), events: row.int("events") }));
  },

  *page(cursor, events): SqlScript<LogPage | null> {
    const now = yield* snapshot();
    const place = yield* placeOf(cursor, now);
    if (place === null) return null;
    const unseen = [place.underWay, place.ahead, now.ahead] as const;
    // Whole transactions, so that a number says up to where the page goes.
    const nth = yield* get(NTH, ...unseen, events - 1);
    const end = nth === null ? now.ahead : nth.int("transaction_no") + 1;
    const rows = yield* all(PAGE, ...unseen, end);
    const last = rows.at(-1);
    if (last === undefined) return { entries: [], cursor };
    const underWay = now.underWay.split(",").filter((each) => each !== "" && Number(each) < end);
    const seen = `${last.int("transaction_no")}.${last.hex("hash")}`;
    return { entries: rows.map(logEntry), cursor: `${end}[${underWay.join(",")}]${seen}` };
  },
};

/** Null if the cursor is none of this log, or what it ended with is gone. */
function* placeOf(cursor: RunChangeCursor, now: SeenTransactions): SqlScript<SeenTransactions | null> {
  const [ahead = "", underWay = "", seen, hash] = cursorParts(CURSOR, cursor) ?? [];
  // A database that was restored into another server has numbers that are still to come there.
  if (ahead === "" || Number(ahead) > now.ahead) return null;
  if (hash !== undefined && (yield* get(IS_THERE, Number(seen), Buffer.from(hash, "hex"))) === null)
    return null;
  return { ahead: Number(ahead), underWay };
}

type SeenTransactions = { readonly ahead: number; readonly underWay: string };

function* snapshot(): SqlScript<SeenTransactions> {
  const row = yield* get(SNAPSHOT);
  if (row === null) throw new Error("The server has no snapshot.");
  return { ahead: row.int("ahead"), underWay: row.text("under_way") };
}
