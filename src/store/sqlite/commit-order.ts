import { type ChangedRun, type ChangeLog, cursorParts, type LogPage, logEntry } from "../sql/change-log.ts";
import { all, get, type SqlScript } from "../sql/script.ts";
import type { RunChangeCursor } from "../store.ts";

const LAST = "SELECT rowid AS place, hash FROM events ORDER BY rowid DESC LIMIT 1";
const AT_PLACE = "SELECT hash FROM events WHERE rowid = ?";
const SINCE = `SELECT run_id, count(*) AS events FROM (SELECT rowid AS place, run_key FROM events WHERE rowid > ? ORDER BY rowid LIMIT ?) AS recent
    JOIN runs USING (run_key) GROUP BY run_id ORDER BY max(place)`;
const PAGE = `SELECT place, run_id, seq, recent.created_at, type, data, hash FROM (
      SELECT rowid AS place, run_key, seq, created_at, type, data, hash FROM events WHERE rowid > ? ORDER BY rowid LIMIT ?) AS recent
    JOIN runs USING (run_key) ORDER BY place`;

/**
 * SQLite has one writer at a time, and gives each event the next number. The number of the last one is given again if its
 * run is deleted, so a cursor has the hash of the event, too.
 */
export const commitOrder: ChangeLog = {
  *end() {
    const last = yield* get(LAST);
    return last === null ? "0" : `${last.int("place")}.${last.hex("hash")}`;
  },

  *since(cursor, mostEvents): SqlScript<readonly ChangedRun[] | null> {
    const place = yield* placeOf(cursor);
    if (place === null) return null;
    const rows = yield* all(SINCE, place, mostEvents);
    return rows.map((row) => ({ runId: row.text("run_id"), events: row.int("events") }));
  },

  *page(cursor, events): SqlScript<LogPage | null> {
    const place = yield* placeOf(cursor);
    if (place === null) return null;
    const rows = yield* all(PAGE, place, events);
    const last = rows.at(-1);
    return {
      entries: rows.map(logEntry),
      cursor: last === undefined ? cursor : `${last.int("place")}.${last.hex("hash")}`,
    };
  },
};

/** Null if the event that the cursor names is not there. */
function* placeOf(cursor: RunChangeCursor): SqlScript<number | null> {
  const [place = "", hash] = cursorParts(/^(0|\d{1,15}(?=\.))(?:\.([\da-f]{64}))?$/, cursor) ?? [];
  if (place === "") return null;
  if (hash !== undefined && (yield* get(AT_PLACE, Number(place)))?.hex("hash") !== hash) return null;
  return Number(place);
}
