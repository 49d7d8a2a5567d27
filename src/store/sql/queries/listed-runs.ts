import type { Budgets } from "../../../core/job/budgets.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import { readDecision } from "../../../core/person.ts";
import { waitId } from "../../../core/wait.ts";
import type { FirstWait, RunCursor, RunFilter, RunMetadata, RunRecord, RunSummary } from "../../store.ts";
import type { Row } from "../row.ts";
import type { SqlScript } from "../script.ts";
import { PERSON_WAIT_KINDS, RUN_STATUSES } from "../stored-words.ts";
import { chargedAmount, limitOf, reservedAmount } from "../tables/run-quota.ts";
import { CURRENT_STEP, RUN_COLUMNS, runRecord } from "../tables/run-record.ts";
import { parseJson } from "../tables/run-row.ts";
import { HAS_FAILED } from "./failed-calls.ts";
import { ASKS_PEOPLE, IS_IN_DOUBT } from "./needed-people.ts";
import { pageOf, rowsOf } from "./run-page.ts";

const MAX_LISTED = 1_000;

/** The characters that are shown of a text which may be long. */
export const SHOWN_OF_MESSAGE = 300;
const SHOWN_OF_QUESTION = 200;
const SHOWN_OF_OBJECTIVE = 300;

export function* listRuns(now: number, filter: RunFilter): SqlScript<RunRecord[]> {
  return (yield* rowsOf(RUN_COLUMNS, yield* listed(now, filter))).map(runRecord);
}

export function* listRunSummaries(now: number, filter: RunFilter): SqlScript<RunSummary[]> {
  return yield* summariesOf(yield* listed(now, filter));
}

function listed(now: number, filter: RunFilter): SqlScript<readonly RunCursor[]> {
  return pageOf(filter, now, Math.min(filter.limit ?? MAX_LISTED, MAX_LISTED));
}

export function* readRunHead(runId: string): SqlScript<RunSummary | null> {
  const [run] = yield* summariesOf([{ runId }]);
  return run ?? null;
}

/** The summaries of these runs, in this order. */
export function* summariesOf(runs: readonly Pick<RunCursor, "runId">[]): SqlScript<RunSummary[]> {
  return (yield* rowsOf(SUMMARY_COLUMNS, runs)).map(runSummary);
}

const OF_RUN = `waits.run_key = runs.run_key AND runs.status <> 'moved' AND ${ASKS_PEOPLE}`;

/** A column of the first wait that asks people. */
const ofFirstWait = (column: string) =>
  `(SELECT ${column} FROM waits WHERE ${OF_RUN} ORDER BY wait_index LIMIT 1) AS first_${column}`;

/** Without it, SQLite looks at each call of the run: it takes the index of these calls only if that has all it asks for. */
const DOUBTED = `SELECT doubted.call_no FROM tool_calls AS doubted
  WHERE doubted.run_key = runs.run_key AND doubted.status = 'in_doubt'`;

const SUMMARY_COLUMNS = `runs.run_id, runs.created_at, runs.updated_at, runs.pipeline, runs.status, runs.queue,
  runs.metadata, runs.ready_at, runs.wake_at, runs.stalls, runs.owner, runs.epoch, runs.lease_until, runs.event_seq,
  runs.limit_tokens, runs.limit_micro_dollars, runs.charged_tokens, runs.charged_micro_dollars, runs.reserved_tokens,
  runs.reserved_micro_dollars, runs.budgets, runs.calls, runs.error, runs.started_by, runs.forked_from, ${CURRENT_STEP},
  (SELECT contract FROM run_inputs WHERE run_inputs.run_key = runs.run_key) AS contract,
  (SELECT count(*) FROM waits WHERE ${OF_RUN}) AS open_waits,
  ${["wait_index", "kind", "question"].map(ofFirstWait).join(", ")},
  (SELECT count(*) FROM receipts WHERE receipts.run_key = runs.run_key AND ${HAS_FAILED}) AS failed_calls,
  (SELECT count(*) FROM tool_calls WHERE tool_calls.run_key = runs.run_key AND runs.status <> 'moved'
     AND tool_calls.call_no IN (${DOUBTED}) AND ${IS_IN_DOUBT}) AS calls_in_doubt`;

function runSummary(row: Row): RunSummary {
  const error = parseJson(row.optionalText("error"));
  const message = textIn(error, "message");
  return {
    runId: row.text("run_id"),
    pipeline: row.text("pipeline"),
    status: row.oneOf("status", RUN_STATUSES),
    queue: row.text("queue"),
    createdAt: row.int("created_at"),
    updatedAt: row.int("updated_at"),
    eventSeq: row.int("event_seq"),
    currentStep: row.optionalText("current_step"),
    metadata: parseJson(row.optionalText("metadata")) as RunMetadata | null,
    objective: objectiveOf(row),
    readyAt: row.optionalInt("ready_at"),
    wakeAt: row.optionalInt("wake_at"),
    stalls: row.int("stalls"),
    owner: row.optionalText("owner"),
    epoch: row.int("epoch"),
    leaseUntil: row.int("lease_until"),
    limit: limitOf(row),
    budgets: parseJson(row.optionalText("budgets")) as Budgets | null,
    charged: chargedAmount(row),
    reserved: reservedAmount(row),
    toolCalls: row.int("calls"),
    failedCalls: row.int("failed_calls"),
    callsInDoubt: row.int("calls_in_doubt"),
    openWaits: row.int("open_waits"),
    firstWait: firstWaitOf(row),
    errorCode: textIn(error, "code"),
    errorMessage: message === null ? null : beginningOf(message, SHOWN_OF_MESSAGE),
    startedBy: readDecision(parseJson(row.optionalText("started_by")))?.name ?? null,
    forkedFrom: textIn(parseJson(row.optionalText("forked_from")), "runId"),
  };
}

/** It may be a whole file, and a row of a list is sent with every change of its run. */
function objectiveOf(row: Row): string | null {
  const objective = textIn(parseJson(row.optionalText("contract")), "objective");
  if (objective === null) return null;
  const shown = beginningOf(objective, SHOWN_OF_OBJECTIVE);
  return shown === objective ? objective : `${shown}…`;
}

function firstWaitOf(row: Row): FirstWait | null {
  const index = row.optionalInt("first_wait_index");
  if (index === null) return null;
  return {
    waitId: waitId(row.text("run_id"), index),
    kind: row.oneOf("first_kind", PERSON_WAIT_KINDS),
    question: beginningOf(row.text("first_question"), SHOWN_OF_QUESTION),
  };
}

/** A text member of a stored object; null if there is none. */
export function textIn(value: Json, name: string): string | null {
  const member = isJsonObject(value) ? value[name] : null;
  return typeof member === "string" ? member : null;
}

/** At most this many characters, none of them cut in two. */
export function beginningOf(text: string, characters: number): string {
  return text.length <= characters
    ? text
    : Array.from(text.slice(0, 2 * characters))
        .slice(0, characters)
        .join("");
}
