import type { RunCounts, RunFilter, ShownStatus } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import { RUN_STATUSES, SHOWN_STATUSES } from "../stored-words.ts";
import { MOST_SEEN, mergedWalks, pageOf, rowsOf, walksFor } from "./run-page.ts";
import { type RunsOf, shownStatusOf, walksOf } from "./run-walks.ts";

type CountedRuns = Omit<RunFilter, "after" | "limit">;
type Counts = Record<ShownStatus, number>;
type Count = { readonly counts: Counts; readonly isCapped: boolean };

export function* countRuns(now: number, given: RunFilter): SqlScript<RunCounts> {
  // A count has no pages.
  const { after: _, limit: __, ...filter } = given;
  const { counts, isCapped } = yield* countsOf(filter, now);
  const needed = yield* pageOf({ ...filter, needsPerson: true }, now, MOST_SEEN);
  return {
    counts,
    total: Object.values(counts).reduce((sum, n) => sum + n, 0),
    needsPerson: needed.length,
    isCapped: isCapped || needed.length === MOST_SEEN,
  };
}

/** What the indexes of runs are made of: every status can be counted by itself. */
const INDEXED: readonly string[] = ["status", "pipeline", "pipelines", "createdSince", "createdBefore"];

function countsOf(filter: CountedRuns, now: number): SqlScript<Count> {
  const names = Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (names.length === 0) return countAll(now);
  return names.every((name) => INDEXED.includes(name)) ? countWalks(filter, now) : countNewest(filter, now);
}

function none(): Counts {
  return {
    queued: 0,
    running: 0,
    interrupted: 0,
    waiting: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    moved: 0,
  };
}

const ALL = "SELECT status, count(*) AS n FROM runs GROUP BY status ORDER BY status";
const INTERRUPTED = "SELECT count(*) AS n FROM runs WHERE status = 'running' AND lease_until <= ?";

function* countAll(now: number): SqlScript<Count> {
  const counts = none();
  for (const row of yield* all(ALL)) counts[row.oneOf("status", RUN_STATUSES)] = row.int("n");
  const [row] = yield* all(INTERRUPTED, now);
  counts.interrupted = row?.int("n") ?? 0;
  counts.running -= counts.interrupted;
  return { counts, isCapped: false };
}

/** Each status of each pipeline by its index, without a look at the rows. */
function* countWalks(filter: CountedRuns, now: number): SqlScript<Count> {
  const counts = none();
  const walks = wanted(filter, SHOWN_STATUSES).flatMap((status) =>
    walksOf({ ...filter, status }, now).map((walk) => ({ status, walk })),
  );
  if (walks.length === 0) return { counts, isCapped: false };
  const parts = walks.map(
    ({ walk }, i) => `SELECT ${i} AS place, count(*) AS n FROM (${walk.text()}) AS walk_${i + 1}`,
  );
  const values = walks.flatMap(({ walk }) => [...walk.values, MOST_SEEN]);
  for (const row of yield* all(parts.join(" UNION ALL "), ...values)) {
    const status = walks[row.int("place")]?.status;
    if (status !== undefined) counts[status] = Math.min(MOST_SEEN, counts[status] + row.int("n"));
  }
  return { counts, isCapped: Object.values(counts).includes(MOST_SEEN) };
}

/** Of runs that have not ended: they are few beside the others, and may be older than all that are seen of those. */
const LIVING: readonly ShownStatus[] = ["queued", "running", "interrupted", "waiting"];
const ENDED = SHOWN_STATUSES.filter((status) => !LIVING.includes(status));

/** The newest runs of the filter, those that have ended and those that have not by themselves. */
function* countNewest({ text, ...filter }: CountedRuns, now: number): SqlScript<Count> {
  const counts = none();
  let isCapped = false;
  for (const part of [LIVING, ENDED]) {
    const status = wanted(filter, part);
    const rows =
      text === undefined
        ? yield* countedRows({ ...filter, status }, now)
        : yield* foundRows({ ...filter, status, text }, now);
    for (const row of rows) {
      const shown = shownStatusOf(row.oneOf("status", RUN_STATUSES), row.int("lease_until"), now);
      counts[shown] += row.int("n");
    }
    isCapped ||= rows.reduce((sum, row) => sum + row.int("n"), 0) === MOST_SEEN;
  }
  return { counts, isCapped };
}

/** By the status and by whether a lease has expired. */
function* countedRows(filter: RunsOf, now: number): SqlScript<readonly Row[]> {
  const query = mergedWalks(yield* walksFor(filter, now), MOST_SEEN, "status", "lease_until");
  if (query === null) return [];
  return yield* all(
    `SELECT status, max(lease_until) AS lease_until, count(*) AS n FROM (${query.text}) AS seen
      GROUP BY status, lease_until <= ? ORDER BY status`,
    ...query.values,
    now,
  );
}

/** The runs that have the text, each as a row. */
function* foundRows(filter: RunFilter, now: number): SqlScript<readonly Row[]> {
  const rows: Row[] = [];
  const found = yield* pageOf(filter, now, MOST_SEEN);
  for (let from = 0; from < found.length; from += AT_ONCE)
    rows.push(
      ...(yield* rowsOf(
        "runs.run_id, runs.status, runs.lease_until, 1 AS n",
        found.slice(from, from + AT_ONCE),
      )),
    );
  return rows;
}

/** How many runs are read at a time. */
const AT_ONCE = 1_000;

function wanted({ status }: CountedRuns, among: readonly ShownStatus[]): readonly ShownStatus[] {
  if (status === undefined) return among;
  return among.filter((each) => (typeof status === "string" ? each === status : status.includes(each)));
}
