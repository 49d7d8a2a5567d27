import type { ErrorBucket, ErrorGroup, ErrorQuery, RunScope, ToolErrors } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import { CURRENT_STEP } from "../tables/run-record.ts";
import { parseJson } from "../tables/run-row.ts";
import { HAS_FAILED, OF_RECEIPT } from "./failed-calls.ts";
import { beginningOf, SHOWN_OF_MESSAGE, textIn } from "./listed-runs.ts";
import { MOST_SEEN } from "./run-page.ts";
import { inScope } from "./run-scope.ts";
import { allOf } from "./sql-condition.ts";
import { requireBucketMs } from "./time-bucket.ts";

/** Grouped here and not in SQL: a code is inside the stored error. */
export function* listErrors({ since, bucketMs, limit, ...scope }: ErrorQuery): SqlScript<ErrorGroup[]> {
  requireBucketMs(bucketMs);
  const { text, values } = allOf([
    { text: "runs.status = 'failed' AND runs.ended_at >= ?", values: [since] },
    ...inScope(scope),
  ]);
  const rows = yield* all(
    `SELECT runs.run_id, runs.pipeline, runs.ended_at, runs.error, ${CURRENT_STEP} FROM runs WHERE ${text}
      ORDER BY runs.ended_at DESC, runs.run_id DESC LIMIT ?`,
    ...values,
    MOST_SEEN,
  );
  const groups = new Map<string, OpenGroup>();
  for (const row of rows) {
    const found = newGroup(row);
    const key = JSON.stringify([found.pipeline, found.code, found.step]);
    const group = groups.get(key) ?? found;
    groups.set(key, group);
    group.runs += 1;
    group.firstAt = found.lastAt;
    const bucket = since + Math.floor((found.lastAt - since) / bucketMs) * bucketMs;
    group.failed.set(bucket, (group.failed.get(bucket) ?? 0) + 1);
  }
  return [...groups.values()]
    .sort((a, b) => b.runs - a.runs || b.lastAt - a.lastAt)
    .slice(0, limit)
    .map(({ failed, ...group }) => ({ ...group, buckets: bucketsOf(failed) }));
}

/** A group while the rows are read, from the newest to the oldest. */
type OpenGroup = Omit<ErrorGroup, "runs" | "firstAt" | "buckets"> & {
  runs: number;
  firstAt: number;
  readonly failed: Map<number, number>;
};

/** The group that begins with this run, which is not counted yet. */
function newGroup(row: Row): OpenGroup {
  const error = parseJson(row.optionalText("error"));
  const [at, message] = [row.int("ended_at"), textIn(error, "message")];
  return {
    pipeline: row.text("pipeline"),
    code: textIn(error, "code"),
    step: row.optionalText("current_step"),
    runs: 0,
    firstAt: at,
    lastAt: at,
    newestRunId: row.text("run_id"),
    newestMessage: message === null ? null : beginningOf(message, SHOWN_OF_MESSAGE),
    failed: new Map(),
  };
}

function bucketsOf(failed: ReadonlyMap<number, number>): readonly ErrorBucket[] {
  return [...failed].map(([at, runs]) => ({ at, runs })).toReversed();
}

/** Only the ledger has the names of tools. A cross join is made in this order: few of all calls have failed. */
export function* listToolErrors(scope: RunScope): SqlScript<ToolErrors[]> {
  const { text, values } = allOf([
    { text: `${HAS_FAILED} AND ${OF_RECEIPT} AND runs.run_key = receipts.run_key`, values: [] },
    ...inScope(scope),
  ]);
  const rows = yield* all(
    `SELECT tool_calls.tool_name, count(DISTINCT receipts.run_key) AS n
       FROM receipts CROSS JOIN tool_calls CROSS JOIN runs WHERE ${text}
      GROUP BY tool_calls.tool_name ORDER BY n DESC`,
    ...values,
  );
  return rows
    .map((row) => ({ tool: row.text("tool_name"), runs: row.int("n") }))
    .sort((a, b) => b.runs - a.runs || (a.tool < b.tool ? -1 : 1));
}
