import { ledgerCallsOf, type ToolOutput } from "../../../core/message.ts";
import type { SessionEvent } from "../../../core/session-event.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { Receipt, StoredResponse, ToolCallRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import {
  CALL_STATES,
  RECEIPT_SOURCES,
  RECEIPT_STATUSES,
  RECOVERY_CLASSES,
  SIDE_EFFECT_CLASSES,
} from "../stored-words.ts";
import { parseJson } from "../tables/run-row.ts";

/** The columns of a call, of its receipt if it has one, and the path of its step. */
const CALL_COLUMNS = `tool_calls.*, receipts.created_at AS receipt_at, receipts.status AS receipt_status,
  receipts.tokens, receipts.error_code AS receipt_error, receipts.uncertain, receipts.source,
  receipts.external_correlation_id, receipts.duplicate_of, receipts.blob_hash, receipts.blob_size,
  receipts.output AS receipt_output, receipts.session_events,
  (SELECT step_path FROM run_steps
    WHERE run_steps.run_key = tool_calls.run_key AND run_steps.step_no = tool_calls.step_no) AS step_path`;

/** Calls with their receipts, for a condition to follow. */
export const CALLS = `SELECT ${CALL_COLUMNS} FROM tool_calls LEFT JOIN receipts USING (run_key, call_no)`;

/** The record of a call. The arguments of a turn's call are in its response: see `withRequest`. */
export function toolCallRecord(runId: string, row: Row): ToolCallRecord {
  const stepPath = row.text("step_path");
  const [turnIndex, callIndex] = [row.int("turn_index"), row.int("call_index")];
  return {
    toolCallId: toolCallId(runId, stepPath, turnIndex, callIndex),
    stepPath,
    turnIndex,
    callIndex,
    namespace: row.text("tool_namespace"),
    tool: row.text("tool_name"),
    effect: row.oneOf("side_effect_class", SIDE_EFFECT_CLASSES),
    recovery: row.oneOf("recovery", RECOVERY_CLASSES),
    identityHash: row.hex("identity_hash"),
    occurrence: row.int("occurrence"),
    idempotencyKey: row.hex("idempotency_key"),
    status: row.optionalOneOf("receipt_status", RECEIPT_STATUSES) ?? row.oneOf("status", CALL_STATES),
    attempt: row.int("attempt"),
    isSuperseded: row.optionalInt("superseded") !== null,
    request: parseJson(row.optionalText("request")),
    receipt: receiptOf(row),
    createdAt: row.int("created_at"),
    startedAt: row.optionalInt("started_at"),
    endsBy: row.optionalInt("ends_by"),
  };
}

function receiptOf(row: Row): Receipt | null {
  const output = row.optionalText("receipt_output");
  if (output === null) return null;
  const hash = row.optionalBytes("blob_hash");
  return {
    status: row.oneOf("receipt_status", RECEIPT_STATUSES),
    output: JSON.parse(output) as ToolOutput,
    blob: hash === null ? null : { blobId: Buffer.from(hash).toString("hex"), size: row.int("blob_size") },
    tokens: row.int("tokens"),
    errorCode: row.optionalText("receipt_error"),
    uncertain: row.flag("uncertain"),
    source: row.oneOf("source", RECEIPT_SOURCES),
    correlationId: row.optionalText("external_correlation_id"),
    duplicateOf: row.optionalText("duplicate_of"),
    sessionEvents: JSON.parse(row.optionalText("session_events") ?? "[]") as readonly SessionEvent[],
    at: row.int("receipt_at"),
  };
}

/** The arguments of a turn's call are in its response, and nowhere else. */
export function withRequest(call: ToolCallRecord, { content }: StoredResponse): ToolCallRecord {
  return { ...call, request: ledgerCallsOf(content)[call.callIndex - 1]?.input ?? null };
}
