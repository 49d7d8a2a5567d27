import type { RunFilter, RunStatus, ShownStatus } from "../../store.ts";
import type { SqlValue } from "../script.ts";
import { SHOWN_STATUSES } from "../stored-words.ts";
import { hasToolError } from "./failed-calls.ts";
import { hasLabel, inScope } from "./run-scope.ts";
import { allOf, type SqlCondition } from "./sql-condition.ts";

/** A query that walks an index of runs in its order, from the newest one on. The limit is its last value. */
export type Walk = {
  /** The query, with these columns of runs beside `at` and `id`. */
  readonly text: (...columns: readonly string[]) => string;
  readonly values: readonly SqlValue[];
};

/** The filter of a page, without what only decides which part of the list it is. */
export type RunsOf = Omit<RunFilter, "limit" | "text">;

/** SQLite takes 500 parts of a compound query at most. */
const MOST_WALKS = 480;

/** What a filter asks for, apart from the label that a walk may follow. */
type Wanted = {
  /** Null for every status. */
  readonly statuses: readonly StoredStatus[] | null;
  /** Null for every pipeline. */
  readonly pipelines: readonly string[] | null;
  readonly filter: RunsOf;
  readonly rest: readonly SqlCondition[];
};

/** Null if no run can fit. */
function wantedBy(filter: RunsOf, now: number): Wanted | null {
  const [statuses, pipelines] = [storedStatuses(filter.status, now), pipelinesOf(filter)];
  if (statuses?.length === 0 || pipelines?.length === 0) return null;
  return { statuses, pipelines, filter, rest: restOf(filter) };
}

/**
 * The walks that together find all runs of the filter, each along the index that has its order: a list of several statuses
 * or pipelines is one walk for each, so that no page looks at the runs between them. Empty if no run can fit.
 */
export function walksOf(filter: RunsOf, now: number): readonly Walk[] {
  const wanted = wantedBy(filter, now);
  if (wanted === null) return [];
  const [label, ...labels] = Object.entries(filter.metadata ?? {});
  if (label === undefined) return runWalks(wanted);
  const { statuses, rest } = wanted;
  const ofLabel = { ...wanted, rest: [...rest, ...labels.map(hasLabel)] };
  if (statuses === null) return [labelWalk(label, ofLabel)];
  // Runs that have not ended are few beside those of a label, and runs that have are not.
  const living = statuses.filter(isLiving);
  const ended = statuses.filter((status) => !isLiving(status));
  const byStatus = { ...ofLabel, statuses: living, rest: [...ofLabel.rest, hasLabel(label)] };
  return [
    ...(living.length === 0 ? [] : runWalks(byStatus)),
    ...(ended.length === 0 ? [] : [labelWalk(label, { ...ofLabel, statuses: ended })]),
  ];
}

/** A walk over the runs of a set of keys, which is read as a whole: for sets that are small beside all runs. */
export function walkOfKeys(keys: SqlCondition, filter: RunsOf, now: number): readonly Walk[] {
  const wanted = wantedBy(filter, now);
  if (wanted === null) return [];
  const where = allOf([
    { text: "runs.run_key = keys.run_key", values: [] },
    ...created("runs", filter),
    ...whole(wanted),
    ...Object.entries(filter.metadata ?? {}).map(hasLabel),
  ]);
  // A cross join is made in this order.
  return [walk("runs", `(${keys.text}) AS keys CROSS JOIN runs`, where, keys.values)];
}

/** Every combination, unless there are too many of them. */
function runWalks({ statuses, pipelines, filter, rest }: Wanted): readonly Walk[] {
  const isTooMany = (statuses?.length ?? 1) * (pipelines?.length ?? 1) > MOST_WALKS;
  const each: readonly (readonly SqlCondition[])[] =
    pipelines === null || isTooMany
      ? [inScope({ pipelines })]
      : pipelines.map((pipeline) => [is("runs.pipeline", pipeline)]);
  const behind = [...created("runs", filter), ...rest];
  return each.flatMap((ofPipeline) =>
    (statuses ?? [null]).map((status) =>
      walk("runs", "runs", allOf([...(status === null ? [] : [status.condition]), ...ofPipeline, ...behind])),
    ),
  );
}

/** Along the index of the label, which has the time of the run too. */
function labelWalk([name, value]: readonly [string, string], wanted: Wanted): Walk {
  const where = allOf([
    is("label.name", name),
    is("label.value", value),
    ...created("label", wanted.filter),
    ...whole(wanted),
  ]);
  return walk("label", "run_labels AS label JOIN runs ON runs.run_key = label.run_key", where);
}

/** All statuses and pipelines in one condition. */
function whole({ statuses, pipelines, rest }: Wanted): readonly SqlCondition[] {
  return [...(statuses === null ? [] : [anyOf(statuses)]), ...inScope({ pipelines }), ...rest];
}

function walk(
  ordered: "runs" | "label",
  from: string,
  where: SqlCondition,
  before: readonly SqlValue[] = [],
): Walk {
  const rest = `FROM ${from} WHERE ${where.text} ORDER BY ${ordered}.created_at DESC, runs.run_id DESC LIMIT ?`;
  return {
    text: (...columns) =>
      `SELECT ${[`${ordered}.created_at AS at`, "runs.run_id AS id", ...columns].join(", ")} ${rest}`,
    values: [...before, ...where.values],
  };
}

/** When it was created. The time of the cursor by itself, too: two columns of different tables are not looked up in an index. */
function created(table: "runs" | "label", { createdSince, createdBefore, after }: RunsOf): SqlCondition[] {
  const at = `${table}.created_at`;
  return [
    ...(createdSince === undefined ? [] : [{ text: `${at} >= ?`, values: [createdSince] }]),
    ...(createdBefore === undefined ? [] : [{ text: `${at} < ?`, values: [createdBefore] }]),
    ...(after === undefined
      ? []
      : [
          { text: `${at} <= ?`, values: [after.createdAt] },
          { text: `(${at}, runs.run_id) < (?, ?)`, values: [after.createdAt, after.runId] },
        ]),
  ];
}

/** What no index of a walk is chosen by. */
function restOf({ queue, idPrefix, toolError }: RunsOf): SqlCondition[] {
  return [
    ...(queue === undefined ? [] : [is("runs.queue", queue)]),
    // Not the column itself: SQLite would look all of these ids up, and sort them.
    ...(idPrefix === undefined ? [] : [hasPrefix("(runs.run_id || '')", idPrefix)]),
    ...(toolError === undefined ? [] : [hasToolError(toolError)]),
  ];
}

/** A range of ids, and no pattern: that would read all of them. */
export function hasPrefix(id: string, prefix: string): SqlCondition {
  return { text: `${id} >= ? AND ${id} < ?`, values: [prefix, `${prefix}\u{10ffff}`] };
}

function is(column: string, value: string): SqlCondition {
  return { text: `${column} = ?`, values: [value] };
}

function pipelinesOf({ pipeline, pipelines }: RunsOf): readonly string[] | null {
  if (pipeline === undefined) return pipelines === undefined ? null : [...new Set(pipelines)];
  return pipelines === undefined || pipelines.includes(pipeline) ? [pipeline] : [];
}

/** The runs that a status of a filter means. */
type StoredStatus = { readonly status: RunStatus; readonly condition: SqlCondition };

function isLiving({ status }: StoredStatus): boolean {
  return status === "queued" || status === "running" || status === "waiting";
}

/** Null for every status. */
function storedStatuses(shown: RunsOf["status"], now: number): readonly StoredStatus[] | null {
  if (shown === undefined) return null;
  const wanted = new Set(typeof shown === "string" ? [shown] : shown);
  if (SHOWN_STATUSES.every((status) => wanted.has(status))) return null;
  const [isRunning, isInterrupted] = [wanted.delete("running"), wanted.delete("interrupted")];
  const running: readonly StoredStatus[] =
    isRunning && isInterrupted
      ? [stored("running")]
      : [
          ...(isRunning ? [stored("running", { text: "runs.lease_until > ?", values: [now] })] : []),
          ...(isInterrupted ? [stored("running", { text: "runs.lease_until <= ?", values: [now] })] : []),
        ];
  return [
    ...running,
    ...[...wanted].filter((status) => status !== "interrupted").map((each) => stored(each)),
  ];
}

function stored(status: RunStatus, ...more: readonly SqlCondition[]): StoredStatus {
  return { status, condition: allOf([is("runs.status", status), ...more]) };
}

function anyOf(statuses: readonly StoredStatus[]): SqlCondition {
  const conditions = statuses.map(({ condition }) => condition);
  return {
    text: `(${conditions.map(({ text }) => `(${text})`).join(" OR ")})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** The status that people see. */
export function shownStatusOf(status: RunStatus, leaseUntil: number, now: number): ShownStatus {
  return status === "running" && leaseUntil <= now ? "interrupted" : status;
}
