import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { RunChangeCursor } from "../../store.ts";
import { type ChangeLog, type LogEntry, logEntry } from "../change-log.ts";
import { oneOf } from "../queries/sql-condition.ts";
import { all, get, type SqlScript } from "../script.ts";
import { parseJson } from "../tables/run-row.ts";
import type { Transaction } from "../transaction.ts";

/** A place in the log that was read up to. */
type ReadPlace = {
  readonly cursor: RunChangeCursor;
  /** The run of the last event before it: the place is lost if this run is deleted. Empty if it is not known. */
  readonly runId: string;
  readonly at: number;
};

/** How far the runs have been looked at again, in the order of their ids. */
type SecondLook = {
  /** Events before that time were read already. */
  readonly since: number;
  readonly runId: string;
  readonly seq: number;
};

/** Up to where the log was read. */
export type WebhookFeed = {
  /** The last places, each behind an event of another run, the newest first: if one is lost, the one before it counts. */
  readonly places: readonly ReadPlace[];
  /** Set while all runs are looked at again, since all places were lost. */
  readonly again: SecondLook | null;
};

/** The next events, and the feed behind them; null if it stays where it is. */
type FeedPage = { readonly entries: readonly LogEntry[]; readonly next: WebhookFeed | null };

const EVENTS_AT_ONCE = 500;
const MOST_PLACES = 10;
/** The runs whose time is looked at, and of which events are read, in one page of a second look. */
const RUNS_SEEN_AT_ONCE = 1_000;
const RUNS_READ_AT_ONCE = 50;

/** A clock that is set back, and a commit long after its event, are within that. */
const MARGIN_MS = 3_600_000;
const DAY_MS = 24 * MARGIN_MS;
/** What was recorded since an earlier place must not be removed yet: it would be recorded again. */
const EARLIER_PLACE_MS = 30 * DAY_MS;
export const KEPT_MS = 35 * DAY_MS;

/** A feed that begins with the present. */
export function* presentFeed(log: ChangeLog, now: number): SqlScript<WebhookFeed> {
  return { places: [{ cursor: yield* log.end(), runId: "", at: now }], again: null };
}

export function* readFeed(): SqlScript<WebhookFeed | null> {
  const row = yield* get("SELECT places, again FROM webhook_feed WHERE id = 1");
  if (row === null) return null;
  const [places, again] = [parseJson(row.text("places")), parseJson(row.optionalText("again"))];
  return {
    places: Array.isArray(places) ? (places as readonly Json[]).filter(isReadPlace) : [],
    again: isSecondLook(again) ? again : null,
  };
}

export function writeFeed(tx: Transaction, { places, again }: WebhookFeed): void {
  const row = { id: 1, places: JSON.stringify(places), again: again === null ? null : JSON.stringify(again) };
  tx.write({ kind: "upsert", table: "webhook_feed", row });
}

function isReadPlace(value: Json): value is JsonObject & ReadPlace {
  return (
    isJsonObject(value) &&
    typeof value.cursor === "string" &&
    typeof value.runId === "string" &&
    typeof value.at === "number"
  );
}

function isSecondLook(value: Json): value is JsonObject & SecondLook {
  return (
    isJsonObject(value) &&
    typeof value.since === "number" &&
    typeof value.runId === "string" &&
    typeof value.seq === "number"
  );
}

/** True if there is a next page. */
export function* hasNextPage(log: ChangeLog, { places: [newest], again }: WebhookFeed): SqlScript<boolean> {
  if (again !== null || newest === undefined) return true;
  const page = yield* log.page(newest.cursor, 1);
  return page === null || page.entries.length > 0;
}

/** New events do not wait for the end of a second look: a page has some of both. */
export function* nextPage(log: ChangeLog, feed: WebhookFeed, now: number): SqlScript<FeedPage> {
  const read = yield* pageOfLog(log, feed.places, now);
  if (read === null) {
    const since = feed.again?.since ?? (feed.places[0]?.at ?? now) - MARGIN_MS;
    const { places } = yield* presentFeed(log, now);
    return { entries: [], next: { places, again: { since, runId: "", seq: 0 } } };
  }
  if (feed.again === null) {
    const next = read.places === feed.places ? null : { places: read.places, again: null };
    return { entries: read.entries, next };
  }
  const { entries, again } = yield* pageOfRuns(feed.again);
  return { entries: [...read.entries, ...entries], next: { places: read.places, again } };
}

type PageOfLog = { readonly entries: readonly LogEntry[]; readonly places: readonly ReadPlace[] };

/**
 * From the newest place that is not lost: behind an earlier one are events that were read already, whose deliveries are known.
 * Null if all places are lost: their runs were deleted, or the database was restored into another server.
 */
function* pageOfLog(log: ChangeLog, places: readonly ReadPlace[], now: number): SqlScript<PageOfLog | null> {
  for (const [i, { cursor, at }] of places.entries()) {
    if (i > 0 && at < now - EARLIER_PLACE_MS) break;
    const page = yield* log.page(cursor, EVENTS_AT_ONCE);
    if (page === null) continue;
    const left = i === 0 ? places : places.slice(i);
    const last = page.entries.at(-1);
    if (last === undefined) return { entries: [], places: left };
    const { runId } = last;
    const before = left.filter((each) => each.runId !== runId).slice(0, MOST_PLACES - 1);
    return { entries: page.entries, places: [{ cursor: page.cursor, runId, at: now }, ...before] };
  }
  return null;
}

const RUNS = "SELECT run_id, updated_at FROM runs WHERE run_id >= ? ORDER BY run_id LIMIT ?";
const eventsOf = (
  runs: string,
) => `SELECT run_id, seq, events.created_at, type, data FROM events JOIN runs USING (run_key)
   WHERE ${runs} AND (run_id > ? OR seq > ?) AND events.created_at >= ? ORDER BY run_id, seq LIMIT ?`;

type PageOfRuns = { readonly entries: readonly LogEntry[]; readonly again: SecondLook | null };

/** Limits both the runs and the events that it reads, however many of them there are. */
function* pageOfRuns({ since, runId, seq }: SecondLook): SqlScript<PageOfRuns> {
  const seen = yield* all(RUNS, runId, RUNS_SEEN_AT_ONCE);
  const changed = seen.filter((row) => row.int("updated_at") >= since).map((row) => row.text("run_id"));
  const read = changed.slice(0, RUNS_READ_AT_ONCE);
  const { text, values } = oneOf("run_id", read);
  const rows =
    read.length === 0 ? [] : yield* all(eventsOf(text), ...values, runId, seq, since, EVENTS_AT_ONCE);
  const entries = rows.map(logEntry);
  return { entries, again: behind() };

  function behind(): SecondLook | null {
    const last = entries.at(-1);
    if (last !== undefined && entries.length === EVENTS_AT_ONCE)
      return { since, runId: last.runId, seq: last.seq };
    const lastRun = read.length < changed.length ? read.at(-1) : seen.at(-1)?.text("run_id");
    const isEnd = read.length === changed.length && seen.length < RUNS_SEEN_AT_ONCE;
    return isEnd || lastRun === undefined ? null : { since, runId: lastRun, seq: Number.MAX_SAFE_INTEGER };
  }
}
