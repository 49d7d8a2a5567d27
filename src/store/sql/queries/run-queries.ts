import type { Json } from "../../../core/json.ts";
import type { EventRecord, ForkOrigin, RunRecord, RunUsage } from "../../store.ts";
import { all, get, type SqlScript } from "../script.ts";
import { missingRun } from "../tables/missing-run.ts";
import { SETTLED_CALLS } from "../tables/model-calls.ts";
import { chargedAmount } from "../tables/run-quota.ts";
import { RUN_COLUMNS, runRecord } from "../tables/run-record.ts";
import { parseJson, requireRunKey } from "../tables/run-row.ts";

const NEWEST_FIRST = "ORDER BY created_at DESC, run_key DESC";

const OF_INPUT = "pipeline = ? AND input_hash = ? AND forked_from IS NULL";
const RUNS_OF_INPUT = `SELECT ${RUN_COLUMNS} FROM runs
  WHERE ${OF_INPUT} AND (status IN ('queued', 'running', 'waiting', 'moved')
         OR run_key = (SELECT run_key FROM runs WHERE ${OF_INPUT} ${NEWEST_FIRST} LIMIT 1))
  ${NEWEST_FIRST}`;

/**
 * The runs that have not ended or were moved away, and the newest one of all; newest first, without forks, which are resumed by id only.
 */
export function* findRunsOf(pipeline: string, inputHash: Uint8Array): SqlScript<RunRecord[]> {
  return (yield* all(RUNS_OF_INPUT, pipeline, inputHash, pipeline, inputHash)).map(runRecord);
}

export function* readRunInput(runId: string): SqlScript<{ input: Json; shape: Json; callContext: Json }> {
  const key = yield* requireRunKey(runId);
  const row = yield* get("SELECT input, shape, call_context FROM run_inputs WHERE run_key = ?", key);
  return {
    input: parseJson(row?.text("input") ?? null),
    shape: parseJson(row?.text("shape") ?? null),
    callContext: parseJson(row?.optionalText("call_context") ?? null),
  };
}

/** PostgreSQL adds up integers to decimals, which are no numbers in JavaScript. */
const total = (column: string) => `CAST(coalesce(sum(${column}), 0) AS BIGINT)`;

const USAGE = `
  SELECT ${total("input_tokens")} AS input, ${total("output_tokens")} AS output,
         ${total("cached_input_tokens")} AS cached, ${total("reasoning_tokens")} AS reasoning,
         count(CASE WHEN basis <> 'none' THEN 1 END) AS calls,
         count(CASE WHEN basis = 'baseline' THEN 1 END) AS baseline_calls,
         ${total("CASE WHEN basis = 'baseline' THEN charged_tokens END")} AS charged_tokens,
         ${total("CASE WHEN basis = 'baseline' THEN charged_micro_dollars END")} AS charged_micro_dollars
    FROM (${SETTLED_CALLS}) AS settled`;

/** The sum over the turns of a run with this many events takes some ten milliseconds, and a thread to read it as long to start. */
const MANY_EVENTS = 10_000;

/** True for a run whose rows are too many to be read between two other things. */
export function* isLongRun(runId: string): SqlScript<boolean> {
  const run = yield* get("SELECT event_seq FROM runs WHERE run_id = ?", runId);
  return (run?.int("event_seq") ?? 0) > MANY_EVENTS;
}

export function* readUsage(runId: string): SqlScript<RunUsage> {
  const run = yield* get(
    "SELECT run_key, charged_tokens, charged_micro_dollars FROM runs WHERE run_id = ?",
    runId,
  );
  if (run === null) throw yield* missingRun(runId);
  const key = run.value("run_key");
  const row = yield* get(USAGE, key, key);
  if (row === null) throw new Error(`Run ${runId} has no usage row.`);
  return {
    inputTokens: row.int("input"),
    outputTokens: row.int("output"),
    cachedInputTokens: row.int("cached"),
    reasoningTokens: row.int("reasoning"),
    charged: chargedAmount(run),
    modelCalls: row.int("calls"),
    baseline: { charged: chargedAmount(row), modelCalls: row.int("baseline_calls") },
  };
}

/** Step instances that were begun, and rows of the ledger. */
const WORK = `
  SELECT (SELECT count(*) FROM run_steps WHERE run_key = ? AND status <> 'skipped') AS steps,
         (SELECT count(*) FROM tool_calls WHERE run_key = ?) AS calls`;

/** The work of the run itself: what a fork began with is its parent's. */
export function* countWork(runId: string): SqlScript<{ steps: number; toolCalls: number }> {
  const key = yield* requireRunKey(runId);
  const work = yield* get(WORK, key, key);
  const row = yield* get("SELECT forked_from FROM runs WHERE run_key = ?", key);
  const copied = parseJson(row?.optionalText("forked_from") ?? null) as ForkOrigin | null;
  return {
    steps: (work?.int("steps") ?? 0) - (copied?.steps ?? 0),
    toolCalls: (work?.int("calls") ?? 0) - (copied?.toolCalls ?? 0),
  };
}

export function* isCancelRequested(runId: string): SqlScript<boolean> {
  const row = yield* get("SELECT cancel_requested_at FROM runs WHERE run_id = ?", runId);
  if (row === null) throw yield* missingRun(runId);
  return row.optionalInt("cancel_requested_at") !== null;
}

/** The last event of each run. The list is filled up to a power of two, so that there are few different statements. */
export function* readProgress(runIds: readonly string[]): SqlScript<ReadonlyMap<string, number>> {
  const [first] = runIds;
  if (first === undefined) return new Map();
  const places = 2 ** Math.ceil(Math.log2(runIds.length));
  const ids = [...runIds, ...Array.from({ length: places - runIds.length }, () => first)];
  const rows = yield* all(
    `SELECT run_id, event_seq FROM runs WHERE run_id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  return new Map(rows.map((row) => [row.text("run_id"), row.int("event_seq")]));
}

export function* listEvents(runId: string, after: number, limit: number): SqlScript<EventRecord[]> {
  const rows = yield* all(
    "SELECT seq, created_at, type, data, hash FROM events WHERE run_key = ? AND seq > ? ORDER BY seq LIMIT ?",
    yield* requireRunKey(runId),
    after,
    limit,
  );
  return rows.map((row) => ({
    seq: row.int("seq"),
    at: row.int("created_at"),
    type: row.text("type"),
    data: parseJson(row.text("data")),
    hash: row.hex("hash"),
  }));
}
