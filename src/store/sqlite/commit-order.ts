import { type ChangedRun, type ChangeLog, cursorParts } from "../sql/change-log.ts";
import { all, get, type SqlScript } from "../sql/script.ts";

const LAST = "SELECT rowid AS place, hash FROM events ORDER BY rowid DESC LIMIT 1";
const AT_PLACE = "SELECT hash FROM events WHERE rowid = ?";
const SINCE = `SELECT run_id, count(*) AS events FROM (SELECT rowid AS place, run_key FROM events WHERE rowid > ? ORDER BY rowid LIMIT ?) AS recent
    JOIN runs USING (run_key) GROUP BY run_id ORDER BY max(place)`;

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
    const [place = "", hash] = cursorParts(/^(0|\d{1,15}(?=\.))(?:\.([\da-f]{64}))?$/, cursor) ?? [];
    if (place === "") return null;
    if (hash !== undefined && (yield* get(AT_PLACE, Number(place)))?.hex("hash") !== hash) return null;
    const rows = yield* all(SINCE, Number(place), mostEvents);
    return rows.map((row) => ({ runId: row.text("run_id"), events: row.int("events") }));
  },
};
