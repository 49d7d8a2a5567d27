import { isJsonObject } from "../../../core/json.ts";
import type { RunCursor, RunFilter } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import { parseJson } from "../tables/run-row.ts";
import { FAILED_RECEIPTS, failedKeys } from "./failed-calls.ts";
import { neededKeys } from "./needed-people.ts";
import { hasPrefix, type RunsOf, type Walk, walkOfKeys, walksOf } from "./run-walks.ts";
import { oneOf, type SqlCondition } from "./sql-condition.ts";

/** The newest runs of a filter that a text is looked for in, and the most that are counted. */
export const MOST_SEEN = 10_000;

/** How many runs are read at a time while a text is looked for. */
const SEARCHED_AT_ONCE = 1_000;

/** The first runs of the filter, newest first. */
export function* pageOf(filter: RunFilter, now: number, limit: number): SqlScript<readonly RunCursor[]> {
  const { text, ...rest } = filter;
  return text === undefined || text === ""
    ? yield* firstOf(rest, now, limit)
    : yield* searched(rest, text, now, limit);
}

/** The columns of these runs, in the order in which they are given. Those that are gone are left out. */
export function* rowsOf(
  columns: string,
  runs: readonly Pick<RunCursor, "runId">[],
): SqlScript<readonly Row[]> {
  if (runs.length === 0) return [];
  const { text, values } = oneOf(
    "runs.run_id",
    runs.map(({ runId }) => runId),
  );
  const rows = yield* all(`SELECT ${columns} FROM runs WHERE ${text}`, ...values);
  const found = new Map(rows.map((row) => [row.text("run_id"), row]));
  return runs.flatMap(({ runId }) => found.get(runId) ?? []);
}

function* firstOf(filter: RunsOf, now: number, limit: number): SqlScript<readonly RunCursor[]> {
  const query = mergedWalks(yield* walksFor(filter, now), limit);
  if (query === null) return [];
  const rows = yield* all(query.text, ...query.values);
  return rows.map((row) => ({ createdAt: row.int("at"), runId: row.text("id") }));
}

/**
 * The walks in one query, which continues each of them only as far as the page needs; null if there are none. `columns` are
 * names of columns of runs.
 */
export function mergedWalks(
  walks: readonly Walk[],
  limit: number,
  ...columns: readonly string[]
): SqlCondition | null {
  const [only] = walks;
  if (only === undefined) return null;
  const named = columns.map((column) => `runs.${column} AS ${column}`);
  if (walks.length === 1) return { text: only.text(...named), values: [...only.values, limit] };
  const selected = ["at", "id", ...columns].join(", ");
  const parts = walks.map(({ text }, i) => `SELECT ${selected} FROM (${text(...named)}) AS walk_${i + 1}`);
  return {
    text: `SELECT ${selected} FROM (${parts.join(" UNION ALL ")}) AS walks ORDER BY at DESC, id DESC LIMIT ?`,
    values: [...walks.flatMap(({ values }) => [...values, limit]), limit],
  };
}

export function* walksFor(filter: RunsOf, now: number): SqlScript<readonly Walk[]> {
  if (filter.needsPerson === true) return walkOfKeys(neededKeys(now), filter, now);
  const { idPrefix, toolError, ...others } = filter;
  // Few ids are sorted by time, and few runs with failed calls. Where there are many, a walk by time soon finds enough of them.
  if (idPrefix !== undefined && idPrefix !== "") {
    const range = hasPrefix("runs.run_id", idPrefix);
    const keys = atMost(MOST_SEEN, {
      text: `SELECT runs.run_key FROM runs WHERE ${range.text}`,
      values: range.values,
    });
    if (yield* isSmall(keys)) return walkOfKeys(keys, filter, now);
  } else if (toolError !== undefined && (yield* isSmall(atMost(MOST_SEEN, FAILED_RECEIPTS)))) {
    return walkOfKeys(failedKeys(toolError), others, now);
  }
  return walksOf(filter, now);
}

function atMost(limit: number, { text, values }: SqlCondition): SqlCondition {
  return { text: `${text} LIMIT ?`, values: [...values, limit] };
}

function* isSmall({ text, values }: SqlCondition): SqlScript<boolean> {
  const [row] = yield* all(`SELECT count(*) AS n FROM (${text}) AS named`, ...values);
  return (row?.int("n") ?? 0) < MOST_SEEN;
}

/** Looks at the newest runs of the filter, whichever page is asked for, so that all pages are of the same search. */
function* searched(
  { after, ...filter }: RunsOf,
  text: string,
  now: number,
  limit: number,
): SqlScript<readonly RunCursor[]> {
  const isFound = textMatcher(text);
  const found: RunCursor[] = [];
  let cursor: RunCursor | undefined;
  for (let seen = 0; seen < MOST_SEEN && found.length < limit; seen += SEARCHED_AT_ONCE) {
    const behind = cursor === undefined ? {} : { after: cursor };
    const page = yield* firstOf({ ...filter, ...behind }, now, SEARCHED_AT_ONCE);
    const wanted = after === undefined ? page : page.filter((run) => isBehind(run, after));
    for (const row of yield* rowsOf(SEARCHED_COLUMNS, wanted))
      if (isFound(row)) found.push({ createdAt: row.int("created_at"), runId: row.text("run_id") });
    cursor = page.at(-1);
    if (page.length < SEARCHED_AT_ONCE) break;
  }
  return found.slice(0, limit);
}

const SEARCHED_COLUMNS = `runs.run_id, runs.created_at, runs.error,
  (SELECT contract FROM run_inputs WHERE run_inputs.run_key = runs.run_key) AS contract`;

/** In the order of the list, which compares ids byte by byte. */
function isBehind(run: RunCursor, after: RunCursor): boolean {
  if (run.createdAt !== after.createdAt) return run.createdAt < after.createdAt;
  return Buffer.compare(Buffer.from(run.runId), Buffer.from(after.runId)) < 0;
}

/**
 * Here and not in SQL, where each database has its own idea of upper and lower case. A stored text that does not even have
 * it anywhere is not parsed.
 */
function textMatcher(text: string): (row: Row) => boolean {
  const wanted = text.toLowerCase();
  const inJson = JSON.stringify(text).slice(1, -1).toLowerCase();
  const has = (value: unknown) => typeof value === "string" && value.toLowerCase().includes(wanted);
  const inMember = (json: string | null, ...names: readonly string[]) => {
    if (json === null || !json.toLowerCase().includes(inJson)) return false;
    const parsed = parseJson(json);
    return isJsonObject(parsed) && names.some((name) => has(parsed[name]));
  };
  return (row) =>
    has(row.text("run_id")) ||
    inMember(row.optionalText("contract"), "objective") ||
    inMember(row.optionalText("error"), "code", "message");
}
