import { type Amount, addAmount, NOTHING } from "../../../core/usage/usage.ts";
import type { SpendBucket, SpendCharge, SpendQuery } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import { CHARGE_BASES } from "../stored-words.ts";
import { chargedAmount } from "../tables/run-quota.ts";
import { inScope } from "./run-scope.ts";
import { allOf, type SqlCondition } from "./sql-condition.ts";
import { requireBucketMs } from "./time-bucket.ts";

export function* readSpend(query: SpendQuery): SqlScript<SpendBucket[]> {
  const { since, until, bucketMs } = query;
  requireBucketMs(bucketMs);
  const buckets = new Buckets(query);
  const times = [since, bucketMs, since, until];
  for (const row of yield* sums(query, `${SETTLED_TURNS} UNION ALL ${FAILED}`, [...times, ...times]))
    buckets.addCharge(row);
  for (const row of yield* sums(query, `${LOST_CALLS} UNION ALL ${LOST_TURNS}`, [...times, since, ...times]))
    buckets.addLost(row);
  return buckets.list();
}

// As whole numbers: SQLite takes a number of JavaScript for a real one.
const BUCKET = "(settled_at - CAST(? AS BIGINT)) / CAST(? AS BIGINT) AS bucket";
const CHARGED = "charged_tokens, charged_micro_dollars";
const IN_TIME = "settled_at >= ? AND settled_at < ?";

// A turn that is charged nothing was copied by a fork, and asked nobody.
const SETTLED_TURNS = `SELECT ${BUCKET}, run_key, basis, ${CHARGED} FROM turns WHERE ${IN_TIME} AND basis <> 'none'`;
const FAILED = `SELECT ${BUCKET}, run_key, basis, ${CHARGED} FROM failed_model_calls WHERE ${IN_TIME}`;

// The call of a summary is stored with those that failed, since it is no turn; but the lineage that it begins has its answer.
const LOST_CALLS = `${FAILED} AND basis <> 'none' AND NOT EXISTS (SELECT 1 FROM lineages
    WHERE lineages.run_key = failed_model_calls.run_key AND lineages.step_no = failed_model_calls.step_no
      AND lineages.first_turn = failed_model_calls.turn_index AND lineages.begun_at = failed_model_calls.settled_at
      AND lineages.summary IS NOT NULL)`;
// Two lineages may have given up the same turn. A cross join is made in this order.
const LOST_TURNS = `SELECT ${BUCKET}, run_key, basis, ${CHARGED} FROM (
    SELECT DISTINCT turns.run_key, turns.step_no, turns.turn_index, turns.settled_at, turns.basis, turns.charged_tokens, turns.charged_micro_dollars
      FROM lineages CROSS JOIN turns
     WHERE lineages.begun_at >= ? AND lineages.summary IS NULL AND turns.run_key = lineages.run_key
       AND turns.step_no = lineages.step_no AND turns.turn_index > lineages.base_turn
       AND turns.turn_index < lineages.first_turn) AS given_up
   WHERE ${IN_TIME} AND basis <> 'none'`;

const SUMS = `count(*) AS requests, CAST(sum(charged_tokens) AS BIGINT) AS charged_tokens,
  CAST(sum(charged_micro_dollars) AS BIGINT) AS charged_micro_dollars`;

/** The calls, added up by bucket and basis; by pipeline too, if that is asked for. */
function* sums(query: SpendQuery, calls: string, values: readonly number[]): SqlScript<readonly Row[]> {
  const scope = inScope(query);
  if (query.by === null && scope.length === 0)
    return yield* all(
      `SELECT bucket, basis, ${SUMS} FROM (${calls}) AS settled GROUP BY bucket, basis ORDER BY bucket, basis`,
      ...values,
    );
  const where: SqlCondition = allOf([{ text: "runs.run_key = of_runs.run_key", values: [] }, ...scope]);
  // Of each run first: there are more calls than runs to look up.
  const ofRuns = `SELECT bucket, run_key, basis, ${SUMS} FROM (${calls}) AS settled GROUP BY bucket, run_key, basis`;
  const group = query.by === null ? "bucket, basis" : "bucket, runs.pipeline, basis";
  return yield* all(
    `SELECT ${group}, CAST(sum(requests) AS BIGINT) AS requests,
        CAST(sum(of_runs.charged_tokens) AS BIGINT) AS charged_tokens,
        CAST(sum(of_runs.charged_micro_dollars) AS BIGINT) AS charged_micro_dollars
       FROM (${ofRuns}) AS of_runs CROSS JOIN runs WHERE ${where.text} GROUP BY ${group} ORDER BY ${group}`,
    ...values,
    ...where.values,
  );
}

type OpenBucket = { charges: Record<(typeof CHARGE_BASES)[number], SpendCharge>; lost: Amount };

class Buckets {
  readonly #query: SpendQuery;
  readonly #found = new Map<string, OpenBucket & Pick<SpendBucket, "at" | "pipeline">>();

  constructor(query: SpendQuery) {
    this.#query = query;
  }

  addCharge(row: Row): void {
    const bucket = this.#bucketOf(row);
    const basis = row.oneOf("basis", CHARGE_BASES);
    bucket.charges[basis] = { requests: row.int("requests"), charged: chargedAmount(row) };
  }

  addLost(row: Row): void {
    const bucket = this.#bucketOf(row);
    bucket.lost = addAmount(bucket.lost, chargedAmount(row));
  }

  list(): SpendBucket[] {
    return [...this.#found.values()];
  }

  #bucketOf(row: Row) {
    const { since, bucketMs, by } = this.#query;
    const at = since + row.int("bucket") * bucketMs;
    const pipeline = by === null ? null : row.text("pipeline");
    const key = JSON.stringify([at, pipeline]);
    const none = { requests: 0, charged: NOTHING };
    const known = this.#found.get(key) ?? {
      at,
      pipeline,
      charges: { provider: none, baseline: none, none },
      lost: NOTHING,
    };
    this.#found.set(key, known);
    return known;
  }
}
