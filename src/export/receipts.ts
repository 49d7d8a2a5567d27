import type { JsonObject } from "../core/json.ts";
import type { Receipt, StoreReader, ToolCallRecord, ToolCallTry, WaitRecord } from "../store/store.ts";
import { isoTime } from "./figures.ts";
import { type RunAccount, readRunAccount } from "./run-account.ts";

/** Every call of the run with its tries, what people were asked about it, and its receipt, in the order of the ledger. */
export async function renderReceipts(reader: StoreReader, runId: string): Promise<JsonObject> {
  return receiptsOf(await readRunAccount(reader, runId));
}

export function receiptsOf(account: RunAccount): JsonObject {
  const { run, calls } = account;
  const tries = grouped(account.tries);
  const waits = grouped(account.waits);
  return {
    runId: run.runId,
    pipeline: run.pipeline,
    status: run.status,
    calls: calls.map((call) =>
      callDocument(call, tries.get(call.toolCallId) ?? [], waits.get(call.toolCallId) ?? []),
    ),
  };
}

function grouped<T extends { readonly toolCallId: string | null }>(
  items: readonly T[],
): ReadonlyMap<string | null, T[]> {
  return Map.groupBy(items, (item) => item.toolCallId);
}

function callDocument(
  call: ToolCallRecord,
  tries: readonly ToolCallTry[],
  waits: readonly WaitRecord[],
): JsonObject {
  return {
    toolCallId: call.toolCallId,
    step: call.stepPath,
    turn: call.turnIndex,
    call: call.callIndex,
    namespace: call.namespace,
    tool: call.tool,
    effect: call.effect,
    recovery: call.recovery,
    idempotencyKey: call.idempotencyKey,
    status: call.status,
    attempts: call.attempt,
    isSuperseded: call.isSuperseded,
    request: call.request,
    createdAt: isoTime(call.createdAt),
    startedAt: optionalTime(call.startedAt),
    tries: tries.map(tryDocument),
    questions: waits.map(waitDocument),
    receipt: call.receipt === null ? null : receiptDocument(call.receipt),
  };
}

function tryDocument({ toolCallId: _, startedAt, endedAt, late, ...rest }: ToolCallTry): JsonObject {
  return {
    ...rest,
    startedAt: isoTime(startedAt),
    endedAt: isoTime(endedAt),
    late: late === null ? null : { ...late, at: isoTime(late.at) },
  };
}

function waitDocument(wait: WaitRecord): JsonObject {
  return {
    waitId: wait.waitId,
    kind: wait.kind,
    question: wait.question,
    status: wait.status,
    askedAt: isoTime(wait.createdAt),
    answeredAt: optionalTime(wait.answeredAt),
    answeredBy: wait.answeredBy,
    answer: wait.answer,
  };
}

function receiptDocument({ sessionEvents, at, ...rest }: Receipt): JsonObject {
  return { ...rest, at: isoTime(at), sessionEvents };
}

function optionalTime(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}
