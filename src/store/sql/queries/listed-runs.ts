import { isJsonObject } from "../../../core/json.ts";
import type { RunFilter, RunMetadata, RunRecord, RunSummary } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript, type SqlValue } from "../script.ts";
import { RUN_STATUSES } from "../stored-words.ts";
import { chargedAmount } from "../tables/run-quota.ts";
import { CURRENT_STEP, RUN_COLUMNS, runRecord } from "../tables/run-record.ts";
import { parseJson } from "../tables/run-row.ts";

const MAX_LISTED = 1_000;

export function* listRuns(filter: RunFilter): SqlScript<RunRecord[]> {
  return (yield* filteredRuns(RUN_COLUMNS, filter)).map(runRecord);
}

const SUMMARY_COLUMNS = `runs.run_id, runs.created_at, updated_at, pipeline, status, queue, metadata, ready_at, wake_at,
  stalls, owner, lease_until, charged_tokens, charged_micro_dollars, error, ${CURRENT_STEP},
  (SELECT contract FROM run_inputs WHERE run_inputs.run_key = runs.run_key) AS contract`;

export function* listRunSummaries(filter: RunFilter): SqlScript<RunSummary[]> {
  return (yield* filteredRuns(SUMMARY_COLUMNS, filter)).map(runSummary);
}

type Conditions = { readonly texts: string[]; readonly values: SqlValue[] };

/**
 * Newest first. A list by metadata walks the index of its first label, which has the time of the run too: a page does not
 * look at runs without that label, nor at newer ones.
 */
function* filteredRuns(columns: string, filter: RunFilter): SqlScript<readonly Row[]> {
  const [label, ...labels] = Object.entries(filter.metadata ?? {});
  const { texts, values } = conditionsOf(filter, labels);
  const limit = Math.min(filter.limit ?? MAX_LISTED, MAX_LISTED);
  const where = (all: readonly string[]) => (all.length === 0 ? "" : `WHERE ${all.join(" AND ")}`);
  if (label === undefined)
    return yield* all(
      `SELECT ${columns} FROM runs ${where([...after("runs", filter), ...texts])}
        ORDER BY runs.created_at DESC, run_id DESC LIMIT ?`,
      ...cursorOf(filter),
      ...values,
      limit,
    );
  const conditions = ["label.name = ?", "label.value = ?", ...after("label", filter), ...texts];
  return yield* all(
    `SELECT ${columns} FROM run_labels AS label JOIN runs ON runs.run_key = label.run_key ${where(conditions)}
      ORDER BY label.created_at DESC, run_id DESC LIMIT ?`,
    ...label,
    ...cursorOf(filter),
    ...values,
    limit,
  );
}

/** The time by itself, too: two columns of different tables are not looked up in an index. */
function after(table: "runs" | "label", filter: RunFilter): readonly string[] {
  if (filter.after === undefined) return [];
  return [`${table}.created_at <= ?`, `(${table}.created_at, run_id) < (?, ?)`];
}

function cursorOf({ after: cursor }: RunFilter): readonly SqlValue[] {
  return cursor === undefined ? [] : [cursor.createdAt, cursor.createdAt, cursor.runId];
}

function conditionsOf(filter: RunFilter, labels: readonly (readonly [string, string])[]): Conditions {
  const conditions: Conditions = { texts: [], values: [] };
  for (const column of ["status", "pipeline", "queue"] as const) {
    const value = filter[column];
    if (value === undefined) continue;
    conditions.texts.push(`${column} = ?`);
    conditions.values.push(value);
  }
  for (const label of labels) {
    conditions.texts.push(
      "EXISTS (SELECT 1 FROM run_labels WHERE run_labels.run_key = runs.run_key AND name = ? AND value = ?)",
    );
    conditions.values.push(...label);
  }
  return conditions;
}

function runSummary(row: Row): RunSummary {
  const [error, contract] = [parseJson(row.optionalText("error")), parseJson(row.optionalText("contract"))];
  const { code = null } = isJsonObject(error) ? error : {};
  const { objective = null } = isJsonObject(contract) ? contract : {};
  return {
    runId: row.text("run_id"),
    pipeline: row.text("pipeline"),
    status: row.oneOf("status", RUN_STATUSES),
    queue: row.text("queue"),
    createdAt: row.int("created_at"),
    updatedAt: row.int("updated_at"),
    currentStep: row.optionalText("current_step"),
    metadata: parseJson(row.optionalText("metadata")) as RunMetadata | null,
    objective: typeof objective === "string" ? objective : null,
    readyAt: row.optionalInt("ready_at"),
    wakeAt: row.optionalInt("wake_at"),
    stalls: row.int("stalls"),
    owner: row.optionalText("owner"),
    leaseUntil: row.int("lease_until"),
    charged: chargedAmount(row),
    errorCode: typeof code === "string" ? code : null,
  };
}
