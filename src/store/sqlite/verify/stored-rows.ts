import { toolCallId } from "../../../core/step-path.ts";
import type { Database, Row } from "../database.ts";
import { storedAnswerDigest } from "../queries/wait-queries.ts";
import { artifactRow, storedArtifactDigest } from "../tables/artifact-rows.ts";
import { digestOf } from "../tables/digest.ts";
import { CALL_ATTEMPT, CALLS_OF_RUN, readCoveredRows } from "../tables/event-rows.ts";
import { storedQuotaDigest } from "../tables/run-row.ts";
import {
  storedCallAttemptDigest,
  storedReceiptDigest,
  storedToolCallDigest,
} from "../tables/tool-call-rows.ts";
import { TURNS_OF_STEP } from "../tables/turn-number.ts";
import { CHARGES_ROW, callAttemptRow, waitRow } from "./event-digests.ts";
import { readSessionRows } from "./verify-session.ts";

/** Every row that an event must cover, with its current digest. */
export function readRows(database: Database, runNo: number, runId: string): Map<string, string> {
  return new Map([...readFirstRows(database, runNo, runId), ...readNewerRows(database, runNo, runId)]);
}

/** The rows that are covered since events first had digests. */
export function readFirstRows(database: Database, runNo: number, runId: string): Map<string, string> {
  const rows = readFirstRowsOfRun(database, runNo, runId);
  const turns = `SELECT step_path, turns.turn_index, response, follow_up
                   FROM run_steps JOIN turns ON ${TURNS_OF_STEP} WHERE run_no = ?`;
  for (const row of database.iterate(turns, runNo)) readTurn(row, runId, rows);
  for (const query of CALLS_OF_RUN)
    for (const call of database.all(query, runNo)) readCall(database, call, runId, rows);
  for (const row of database.iterate(`${CALL_ATTEMPT} WHERE tries.run_no = ?`, runNo))
    readCallAttempt(row, runId, rows);
  readSessionRows(database, runNo, runId, rows);
  return rows;
}

/** The part of them that belongs to the run as a whole: its input, the outputs of its steps, the answers of people. */
export function readFirstRowsOfRun(database: Database, runNo: number, runId: string): Map<string, string> {
  const rows = new Map<string, string>();
  const input = database.get("SELECT input, spec FROM run_inputs WHERE run_no = ?", runNo);
  if (input !== null) rows.set("run input", digestOf(input.text("input")));
  const spec = input?.optionalText("spec") ?? null;
  if (spec !== null) rows.set("run spec", digestOf(spec));
  for (const row of database.iterate("SELECT * FROM artifacts WHERE run_no = ?", runNo))
    rows.set(artifactRow(row.text("artifact_name")), storedArtifactDigest(row));
  const output = database.get(
    "SELECT output, context FROM runs WHERE run_no = ? AND coalesce(output, context) IS NOT NULL",
    runNo,
  );
  if (output !== null)
    rows.set("run output", digestOf(output.optionalText("output"), output.optionalText("context")));
  const steps = `SELECT step_path, status, output, context FROM run_steps
                  WHERE run_no = ? AND (status = 'succeeded' OR coalesce(output, context) IS NOT NULL)`;
  for (const row of database.iterate(steps, runNo)) rows.set(...stepOutputRow(row));
  const waits = "SELECT * FROM waits WHERE run_no = ? AND coalesce(answer, answered_by) IS NOT NULL";
  for (const row of database.iterate(waits, runNo))
    rows.set(waitRow(runId, row.int("wait_index")), storedAnswerDigest(row));
  return rows;
}

/** The rows that are covered only since schema 7. */
export function readNewerRows(database: Database, runNo: number, runId: string): Map<string, string> {
  const rows = readCoveredRows(database, runNo, runId);
  const run = database.get("SELECT * FROM runs WHERE run_no = ?", runNo);
  if (run !== null) rows.set(CHARGES_ROW, storedQuotaDigest(run));
  return rows;
}

/** Only a step that has succeeded has an output. */
function stepOutputRow(row: Row): [string, string] {
  const output = [row.optionalText("output"), row.optionalText("context")];
  const status = row.text("status");
  return [
    `step ${row.text("step_path")}`,
    status === "succeeded" ? digestOf(...output) : digestOf(...output, status),
  ];
}

export function readTurn(row: Row, runId: string, rows: Map<string, string>): void {
  const id = `${runId}/${row.text("step_path")}#${row.int("turn_index")}`;
  rows.set(`turn ${id}`, digestOf(row.text("response")));
  const followUp = row.optionalText("follow_up");
  if (followUp !== null) rows.set(`follow-up ${id}`, digestOf(followUp));
}

export function readCall(database: Database, call: Row, runId: string, rows: Map<string, string>): void {
  const id = toolCallId(runId, call.text("step_path"), call.int("turn_index"), call.int("call_index"));
  rows.set(`call ${id}`, storedToolCallDigest(call));
  const receipt = database.get("SELECT * FROM receipts WHERE call_no = ?", call.int("call_no"));
  if (receipt !== null) rows.set(`receipt ${id}`, storedReceiptDigest(receipt));
}

export function readCallAttempt(row: Row, runId: string, rows: Map<string, string>): void {
  const id = toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
  rows.set(callAttemptRow(id, row.int("attempt")), storedCallAttemptDigest(row));
}
