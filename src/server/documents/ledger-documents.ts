import type { Json } from "../../core/json.ts";
import { factsOf } from "../../export/event-facts.ts";
import { isoTime } from "../../export/figures.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  EventRecord,
  MessageRecord,
  ModelCallRecord,
  Receipt,
  StepRecord,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
} from "../../store/store.ts";

// The records of one run as the API shows them: times in ISO 8601, and nothing that only Pawl itself uses.

export function stepDocument(step: StepRecord) {
  const { path, name, kind, phase, status, stepIndex, input, output, errorCode, errorDetail } = step;
  return {
    path,
    name,
    kind,
    phase,
    status,
    stepIndex,
    input,
    output,
    errorCode,
    errorDetail,
    createdAt: isoTime(step.createdAt),
    updatedAt: isoTime(step.updatedAt),
  };
}

/** A turn. Its calls are named only: the ledger has them. */
export function turnDocument({ stepPath, turnIndex, committed, at, tokens, response, calls }: TurnRecord) {
  return {
    stepPath,
    turnIndex,
    committed,
    at: isoTime(at),
    tokens,
    content: response.content as readonly Json[],
    finishReason: response.finishReason,
    calls: calls.map(({ toolCallId }) => toolCallId),
  };
}

export function callDocument(call: ToolCallRecord) {
  const { toolCallId, stepPath, turnIndex, callIndex, tool, effect, recovery, status, attempt } = call;
  const { occurrence, idempotencyKey, identityHash, request, receipt } = call;
  return {
    toolCallId,
    stepPath,
    turnIndex,
    callIndex,
    tool,
    effect,
    recovery,
    status,
    attempt,
    occurrence,
    idempotencyKey,
    identityHash,
    request,
    receipt: receipt === null ? null : receiptDocument(receipt),
    createdAt: isoTime(call.createdAt),
    startedAt: isoTime(call.startedAt),
    endsBy: isoTime(call.endsBy),
  };
}

function receiptDocument(receipt: Receipt) {
  const { status, output, blob, errorCode, uncertain, source, correlationId, duplicateOf, at } = receipt;
  return {
    status,
    output: output as Json,
    blob,
    errorCode,
    uncertain,
    source,
    correlationId,
    duplicateOf,
    at: isoTime(at),
  };
}

export function callAttemptDocument(tried: ToolCallAttempt) {
  const { attempt, outcome, errorCode, errorDetail, correlationId, late } = tried;
  return {
    attempt,
    startedAt: isoTime(tried.startedAt),
    endedAt: isoTime(tried.endedAt),
    outcome,
    errorCode,
    errorDetail,
    correlationId,
    late: late === null ? null : { at: isoTime(late.at), status: late.status, output: late.output as Json },
  };
}

export function modelCallDocument(call: ModelCallRecord) {
  const { stepPath, turnIndex, attempt, reserved, charge } = call;
  return {
    stepPath,
    turnIndex,
    attempt,
    reserved,
    charge,
    openedAt: isoTime(call.openedAt),
    settledAt: isoTime(call.settledAt),
  };
}

export function messageDocument(message: MessageRecord) {
  const { messageNo, id, event, body, sentBy, status, reason, mode } = message;
  return {
    messageNo,
    id,
    event,
    body,
    sentAt: isoTime(message.sentAt),
    sentBy,
    status,
    settledAt: isoTime(message.settledAt),
    reason,
    mode,
  };
}

export function checkpointDocument(record: CheckpointRecord) {
  const { checkpoint, type, stepPath, turnIndex, cursor, isSuperseded, at } = record;
  return { checkpoint, type, stepPath, turnIndex, cursor, isSuperseded, at: isoTime(at) };
}

export function attemptDocument(attempt: AttemptRecord) {
  const { epoch, owner, endStatus, resumedFrom, reason, traceParent } = attempt;
  return {
    epoch,
    owner,
    startedAt: isoTime(attempt.startedAt),
    endedAt: isoTime(attempt.endedAt),
    endStatus,
    resumedFrom,
    reason,
    traceParent,
  };
}

/** An event. What only `verify` uses is left out: digests of rows, and the counters after the event. */
export function eventDocument(event: EventRecord) {
  const { rows: _, head: _head, ...facts } = factsOf(event);
  return { seq: event.seq, at: isoTime(event.at), type: event.type, facts, hash: event.hash };
}
