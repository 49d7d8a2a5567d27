import { StoreUnusableError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Verification, VerificationProblem, WaitRecord } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import { listOpenWaits } from "../queries/wait-queries.ts";
import { chainHash, NO_EVENT_HASH, requireRunNo } from "../tables/run-row.ts";
import { factsOf, rowDigests } from "./event-digests.ts";
import { CHANGED, type DigestFormat, digestFormat, GONE, UNCOVERED } from "./verify.ts";
import { OF_RUN, OpenPart, type OpenRow, type RunKey } from "./verify-open-part.ts";

/**
 * Checks, before a worker or a person acts on a run, that its open part is what was written. The events are read
 * backwards to where that part began, and before it only those that cover the run as a whole, so the cost does not
 * grow with the number of committed turns. `verify` checks everything.
 */
export function assertOpenPart(database: Database, run: RunKey): void {
  assertWhole({ runId: run.runId, problems: openProblems(database, run) });
}

export function assertWhole({ runId, problems }: Pick<Verification, "runId" | "problems">): void {
  const [first, ...more] = problems;
  if (first === undefined) return;
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  throw new StoreUnusableError(
    `Run ${runId} is not as it was written: ${first.row} ${first.what}${others}. Nothing was done; see \`pawl verify ${runId}\`, and restore the database from a backup.`,
    { reason: "changed_rows" },
  );
}

/**
 * All open waits, each with the problem of its run if there is one: a tampered run does not hide the waits of others.
 */
export function listTrustedWaits(database: Database): WaitRecord[] {
  const wrong = new Map<string, string | null>();
  return listOpenWaits(database).map((wait) => {
    const { runId } = wait;
    if (!wrong.has(runId)) {
      const [first] = openProblems(database, { runNo: requireRunNo(database, runId), runId });
      wrong.set(runId, first === undefined ? null : `${first.row} ${first.what}`);
    }
    const distrusted = wrong.get(runId) ?? null;
    return distrusted === null ? wait : { ...wait, distrusted };
  });
}

export function openProblems(database: Database, run: RunKey): VerificationProblem[] {
  const open = new OpenPart(database, run);
  const format = formatOf(database, run);
  const { digests, problems } = readBackwards(database, run, open, format);
  const rows = new Map([...open.recent, ...open.ofRun]);
  for (const [row, { digest, ...stored }] of rows) {
    const known = digests.get(row);
    if (known === digest || (known === undefined && !mustBeCovered(stored, format))) continue;
    problems.push({ row, what: typeof known === "string" ? CHANGED : UNCOVERED });
  }
  // In the order in which they were written: when a turn is missing, so are its calls.
  for (const [row, digest] of [...digests].reverse())
    if (digest !== null && !rows.has(row) && open.includes(row)) problems.push({ row, what: GONE });
  return problems;
}

/** True if an event must cover the row. */
function mustBeCovered({ coveredSince }: Pick<OpenRow, "coveredSince">, format: DigestFormat): boolean {
  return coveredSince === "digests" ? format !== "no digests" : format === "every row";
}

function formatOf(database: Database, { runNo }: RunKey): DigestFormat {
  const first = database.get("SELECT type, data FROM events WHERE run_no = ? AND seq = 1", runNo);
  return first === null ? "every row" : digestFormat(first.text("type"), first.text("data"));
}

/** The digests in the events, for each row the newest one, and the problems of the events themselves. */
class EventsBackwards {
  readonly digests = new Map<string, string | null>();
  readonly problems: VerificationProblem[] = [];
  readonly #database: Database;
  readonly #run: RunKey;

  constructor(database: Database, run: RunKey) {
    this.#database = database;
    this.#run = run;
  }

  /** Checks an event and the one after it, which has its hash: neither was changed alone. */
  take(event: Row): JsonObject {
    const [seq, type, text] = [event.int("seq"), event.text("type"), event.text("data")];
    const next = this.#at(seq + 1);
    if (!this.#isWhole(event) || (next !== null && !this.#isWhole(next)))
      this.problems.push({ row: `event ${seq}`, what: "was changed, moved, or follows one that was" });
    const data = factsOf(text);
    for (const [row, digest] of rowDigests(this.#run.runId, type, data))
      if (!this.digests.has(row)) this.digests.set(row, digest);
    return data;
  }

  #isWhole(event: Row): boolean {
    const seq = event.int("seq");
    const before = this.#at(seq - 1)?.bytes("hash") ?? NO_EVENT_HASH;
    const hash = chainHash(before, seq, event.int("created_at"), event.text("type"), event.text("data"));
    return hash.equals(event.bytes("hash"));
  }

  #at(seq: number): Row | null {
    return this.#database.get("SELECT * FROM events WHERE run_no = ? AND seq = ?", this.#run.runNo, seq);
  }
}

function readBackwards(
  database: Database,
  run: RunKey,
  open: OpenPart,
  format: DigestFormat,
): EventsBackwards {
  const read = new EventsBackwards(database, run);
  const { digests, problems } = read;
  const missing = new Set(
    [...open.recent].filter(([, row]) => mustBeCovered(row, format)).map(([name]) => name),
  );
  const stepsToFind = new Set(open.steps);
  findMissingEvents(database, run, problems);
  let last = Number.MAX_SAFE_INTEGER;
  for (const event of database.iterate(
    "SELECT * FROM events WHERE run_no = ? ORDER BY seq DESC",
    run.runNo,
  )) {
    last = event.int("seq");
    const data = read.take(event);
    for (const row of missing) if (digests.has(row)) missing.delete(row);
    if (BEGINNING_EVENTS.has(event.text("type")) && typeof data.step === "string")
      stepsToFind.delete(data.step);
    if (problems.length > 0 || (missing.size === 0 && stepsToFind.size === 0)) break;
  }
  const older = `SELECT * FROM events WHERE run_no = ? AND seq < ? AND ${OF_RUN} ORDER BY seq DESC`;
  if (problems.length === 0) for (const event of database.iterate(older, run.runNo, last)) read.take(event);
  return read;
}

/** Checks that the log is complete, up to the last event that the run's row has. */
function findMissingEvents(database: Database, { runNo }: RunKey, problems: VerificationProblem[]): void {
  const run = database.get("SELECT event_seq, event_hash FROM runs WHERE run_no = ?", runNo);
  const log = database.get(
    "SELECT count(*) AS events, coalesce(max(seq), 0) AS last FROM events WHERE run_no = ?",
    runNo,
  );
  const newest = database.get("SELECT hash FROM events WHERE run_no = ? ORDER BY seq DESC LIMIT 1", runNo);
  const last = run?.int("event_seq") ?? 0;
  if (log?.int("events") !== last || log.int("last") !== last)
    problems.push({ row: `events up to ${last}`, what: "are incomplete, or more than were written" });
  else if (
    !Buffer.from(run?.bytes("event_hash") ?? NO_EVENT_HASH).equals(newest?.bytes("hash") ?? NO_EVENT_HASH)
  )
    problems.push({ row: `event ${last}`, what: "is not the last event that the run recorded" });
}

/** All open work of a step comes after one of these events of it. */
const BEGINNING_EVENTS = new Set([
  "step.begun",
  "step.skipped",
  "step.finished",
  "turn.committed",
  "lineage.begun",
]);
