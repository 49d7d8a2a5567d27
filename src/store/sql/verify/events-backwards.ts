import {
  BROKEN,
  type ChainedEvent,
  type ChainProblem,
  coveredRowsIn,
  factsOf,
  followsHash,
  headIn,
  NO_EVENT_HASH,
  NOT_THE_LAST,
} from "../../../core/event-chain.ts";
import type { StepPath } from "../../../core/step-path.ts";
import { coversRun, RUN_ROW } from "../covered-rows.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import type { OpenPart } from "./open-part.ts";
import { eventOf, MARKED_WRONGLY } from "./run-check.ts";

/** The digests in the events, for each row the newest one, and the problems of the events themselves. */
export class EventsBackwards {
  readonly digests = new Map<string, string | null>();
  readonly problems: ChainProblem[] = [];
  /** The charges, reservations and last numbers of the run after its newest event. */
  head: string | null = null;
  /** The newest event that covers the row of the run. */
  coveringSeq: number | null = null;
  #newest: number | null = null;

  /** Takes an event that is older than those before it. Returns its rows, and the step that it is the beginning of. */
  take(row: Row): { readonly names: readonly string[]; readonly begun: StepPath | null } {
    const event = eventOf(row);
    const { seq } = event;
    const facts = factsOf(event.data);
    const covered = coveredRowsIn(facts);
    const names = covered.map(([name]) => name);
    if (!isWhole(row, event)) this.problems.push({ row: `event ${seq}`, what: BROKEN });
    else if (Number(coversRun(names)) !== row.int("of_run"))
      this.problems.push({ row: `event ${seq}`, what: MARKED_WRONGLY });
    for (const [name, digest] of covered) {
      if (name === RUN_ROW) this.coveringSeq ??= seq;
      if (!this.digests.has(name)) this.digests.set(name, digest);
    }
    if (this.#newest === null) this.head = headIn(facts);
    this.#newest ??= seq;
    const { step } = facts;
    return { names, begun: BEGINNING_EVENTS.has(event.type) && typeof step === "string" ? step : null };
  }
}

/** Checks an event and the one after it, which covers its hash: neither was changed alone. */
function isWhole(row: Row, event: ChainedEvent): boolean {
  if (!followsHash(event, row.optionalBytes("hash_before") ?? NO_EVENT_HASH)) return false;
  const hash = row.optionalBytes("next_hash");
  if (hash === null) return true;
  const [at, type, data] = [row.int("next_at"), row.text("next_type"), row.text("next_data")];
  return followsHash({ seq: event.seq + 1, at, type, data, hash }, event.hash);
}

/** All open work of a step comes after one of these events of it. */
const BEGINNING_EVENTS: ReadonlySet<string> = new Set([
  "step.begun",
  "step.skipped",
  "step.finished",
  "turn.committed",
  "lineage.begun",
]);

/** Selected events, newest first, each with its neighbours. Their numbers are selected first, by an index alone. */
function eventsBefore(condition: string, limit: number): string {
  return `
  SELECT own.seq, own.created_at, own.type, own.data, own.hash, own.of_run, older.hash AS hash_before,
         newer.created_at AS next_at, newer.type AS next_type, newer.data AS next_data, newer.hash AS next_hash
    FROM (SELECT run_key, seq FROM events WHERE run_key = ? AND seq < ?${condition}
           ORDER BY seq DESC LIMIT ${limit}) AS selected
    JOIN events AS own ON own.run_key = selected.run_key AND own.seq = selected.seq
    LEFT JOIN events AS older ON older.run_key = selected.run_key AND older.seq = selected.seq - 1
    LEFT JOIN events AS newer ON newer.run_key = selected.run_key AND newer.seq = selected.seq + 1
   ORDER BY own.seq DESC`;
}

/** Few, because often the first page has all that is open. */
const RECENT = eventsBefore("", 20);
const OF_RUN = eventsBefore(" AND of_run = 1", 50);

/** Reads the events back to where the open part began. Returns the number of the last one that was read. */
export function* readRecent(
  key: RunKey,
  last: number,
  open: OpenPart,
  read: EventsBackwards,
): SqlScript<number> {
  const rowsToFind = new Set(open.recent);
  const stepsToFind = new Set(open.steps);
  let before = last + 1;
  for (let page = yield* all(RECENT, key, before); page.length > 0; page = yield* all(RECENT, key, before))
    for (const row of page) {
      const { names, begun } = read.take(row);
      before = row.int("seq");
      if (begun !== null) stepsToFind.delete(begun);
      for (const name of names) rowsToFind.delete(name);
      if (read.problems.length > 0 || rowsToFind.size + stepsToFind.size === 0) return before;
    }
  return before;
}

/** Reads only the events that cover rows of the run as a whole. */
export function* readOfRun(key: RunKey, before: number, read: EventsBackwards): SqlScript<void> {
  let at = before;
  for (let page = yield* all(OF_RUN, key, at); page.length > 0; page = yield* all(OF_RUN, key, at))
    for (const row of page) {
      read.take(row);
      at = row.int("seq");
    }
}

/** Checks that the log is complete, up to the last event that the run's row has. */
export function* findMissingEvents(key: RunKey, run: Row): SqlScript<ChainProblem[]> {
  const last = run.int("event_seq");
  const log = yield* get(
    "SELECT count(*) AS events, coalesce(max(seq), 0) AS last FROM events WHERE run_key = ?",
    key,
  );
  if (log?.int("events") !== last || log.int("last") !== last)
    return [{ row: `events up to ${last}`, what: "are incomplete, or more than were written" }];
  const marked = yield* get("SELECT count(*) AS events FROM events WHERE run_key = ? AND of_run = 1", key);
  if (marked?.int("events") !== run.int("run_events"))
    return [{ row: `events up to ${last}`, what: "are not marked as they were written" }];
  const newest = yield* get("SELECT hash FROM events WHERE run_key = ? AND seq = ?", key, last);
  const hash = newest?.bytes("hash") ?? NO_EVENT_HASH;
  if (Buffer.from(hash).equals(run.bytes("event_hash"))) return [];
  return [{ row: `event ${last}`, what: NOT_THE_LAST }];
}
