import type { Json } from "../../../core/json.ts";
import type { EventRecord, ForkOrigin, RunFilter, RunRecord, RunUsage } from "../../store.ts";
import type { Database } from "../database.ts";
import { SETTLED_CALLS } from "../tables/model-calls.ts";
import { chargedAmount, parseJson, RUN_COLUMNS, requireRunNo, runRecord } from "../tables/run-row.ts";
import { TURNS_OF_STEP } from "../tables/turn-number.ts";

const MAX_LISTED = 1_000;

export function listRuns(database: Database, filter: RunFilter): RunRecord[] {
  return database
    .all(
      `SELECT ${RUN_COLUMNS} FROM runs WHERE (? IS NULL OR status = ?) AND (? IS NULL OR pipeline = ?)
        ORDER BY run_no DESC LIMIT ?`,
      filter.status ?? null,
      filter.status ?? null,
      filter.pipeline ?? null,
      filter.pipeline ?? null,
      Math.min(filter.limit ?? MAX_LISTED, MAX_LISTED),
    )
    .map(runRecord);
}

/**
 * The runs that have not ended, and the newest one of all; newest first, without forks, which are resumed by id only.
 */
export function findRunsOf(database: Database, pipeline: string, inputHash: Uint8Array): RunRecord[] {
  return database
    .all(
      `SELECT ${RUN_COLUMNS} FROM runs WHERE pipeline = ? AND input_hash = ? AND forked_from IS NULL
          AND (status IN ('queued', 'running', 'waiting')
               OR run_no = (SELECT max(run_no) FROM runs WHERE pipeline = ? AND input_hash = ? AND forked_from IS NULL))
        ORDER BY run_no DESC`,
      pipeline,
      inputHash,
      pipeline,
      inputHash,
    )
    .map(runRecord);
}

export function readRunInput(database: Database, runId: string): { input: Json; shape: Json } {
  const row = database.get(
    "SELECT input, shape FROM run_inputs WHERE run_no = ?",
    requireRunNo(database, runId),
  );
  return { input: parseJson(row?.text("input") ?? null), shape: parseJson(row?.text("shape") ?? null) };
}

export function readUsage(database: Database, runId: string): RunUsage {
  const runNo = requireRunNo(database, runId);
  const row = database.get(
    `SELECT coalesce(sum(input_tokens), 0) AS input, coalesce(sum(output_tokens), 0) AS output,
            coalesce(sum(cached_input_tokens), 0) AS cached, coalesce(sum(reasoning_tokens), 0) AS reasoning,
            coalesce(sum(basis <> 'none'), 0) AS calls,
            coalesce(sum(basis = 'baseline'), 0) AS baseline_calls,
            coalesce(sum((basis = 'baseline') * charged_tokens), 0) AS charged_tokens,
            coalesce(sum((basis = 'baseline') * charged_micro_dollars), 0) AS charged_micro_dollars
       FROM (${SETTLED_CALLS})`,
    runNo,
    runNo,
  );
  const run = database.get("SELECT charged_tokens, charged_micro_dollars FROM runs WHERE run_no = ?", runNo);
  if (row === null || run === null) throw new Error(`Run ${runId} has no usage row.`);
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

/** The work of the run itself: what a fork began with is its parent's. */
export function countWork(database: Database, runId: string): { steps: number; toolCalls: number } {
  const runNo = requireRunNo(database, runId);
  const { steps, toolCalls } = workOf(database, runNo);
  const row = database.get("SELECT forked_from FROM runs WHERE run_no = ?", runNo);
  const copied = parseJson(row?.optionalText("forked_from") ?? null) as ForkOrigin | null;
  return { steps: steps - (copied?.steps ?? 0), toolCalls: toolCalls - (copied?.toolCalls ?? 0) };
}

/**
 * Step instances that were begun, and rows of the ledger. The calls of turns are counted in their turns, which an
 * index finds.
 */
export function workOf(database: Database, runNo: number): { steps: number; toolCalls: number } {
  const row = database.get(
    `SELECT (SELECT count(*) FROM run_steps WHERE run_no = ? AND status <> 'skipped') AS steps,
            (SELECT coalesce(sum(turns.calls), 0) FROM run_steps JOIN turns ON ${TURNS_OF_STEP} WHERE run_no = ?)
            + (SELECT count(*) FROM run_steps JOIN tool_calls USING (step_no)
                WHERE run_no = ? AND tool_calls.turn_index = 0) AS calls`,
    runNo,
    runNo,
    runNo,
  );
  return { steps: row?.int("steps") ?? 0, toolCalls: row?.int("calls") ?? 0 };
}

export function isCancelRequested(database: Database, runId: string): boolean {
  const runNo = requireRunNo(database, runId);
  const row = database.get("SELECT cancel_requested_at FROM runs WHERE run_no = ?", runNo);
  return row !== null && row.optionalInt("cancel_requested_at") !== null;
}

/** Uses SQLite's own check, and checks the references between rows. */
export function checkIntegrity(database: Database): string[] {
  const damage = database.all("PRAGMA integrity_check(20)").map((row) => row.text("integrity_check"));
  const orphans = database
    .all('SELECT DISTINCT "table" AS child, parent FROM pragma_foreign_key_check')
    .map((row) => `A row of ${row.text("child")} refers to one of ${row.text("parent")} that is not there.`);
  return [...damage.filter((line) => line !== "ok"), ...orphans];
}

export function listEvents(database: Database, runId: string, after: number, limit: number): EventRecord[] {
  return database
    .all(
      "SELECT seq, created_at, type, data, hash FROM events WHERE run_no = ? AND seq > ? ORDER BY seq LIMIT ?",
      requireRunNo(database, runId),
      after,
      limit,
    )
    .map((row) => ({
      seq: row.int("seq"),
      at: row.int("created_at"),
      type: row.text("type"),
      data: parseJson(row.text("data")),
      hash: row.hex("hash"),
    }));
}
