import type { JsonObject } from "../core/json.ts";
import { decisionJson } from "../core/person.ts";
import type { Receipt, StoreReader, ToolCallAttempt, ToolCallRecord, WaitRecord } from "../store/store.ts";
import { isoTime } from "./figures.ts";
import { RecordLookup, waitIndex } from "./record-lookup.ts";
import { everyRecord } from "./record-pages.ts";
import { type RunOutline, readRunOutline } from "./run-outline.ts";
import { jsonPieces, wholeText } from "./text-pieces.ts";

/** Every call of the run with its attempts, the questions to people about it, and its receipt, in the order of the ledger. */
export async function renderReceipts(reader: StoreReader, runId: string): Promise<JsonObject> {
  const outline = await readRunOutline(reader, runId);
  return JSON.parse(await wholeText(jsonPieces(receiptsOf(reader, outline), 0))) as JsonObject;
}

export function receiptsOf(reader: StoreReader, { run }: RunOutline): object {
  const { runId, pipeline, status } = run;
  return { runId, pipeline, status, calls: callDocuments(reader, runId) };
}

async function* callDocuments(
  reader: StoreReader,
  runId: string,
): AsyncGenerator<JsonObject, void, undefined> {
  const records = new RecordLookup(reader, runId);
  // Most calls have neither, so the ones that do are looked up first.
  const tried = await triedCalls(reader, runId);
  const asked = await waitsByCall(reader, runId);
  for await (const call of everyRecord<ToolCallRecord>((range) => reader.listToolCalls(runId, range))) {
    const tries = tried.has(call.toolCallId) ? await triesOf(reader, runId, call) : [];
    const waits: WaitRecord[] = [];
    for (const index of asked.get(call.toolCallId) ?? []) {
      const wait = await records.wait(index);
      if (wait !== null) waits.push(wait);
    }
    yield callDocument(call, tries, waits);
  }
}

async function triedCalls(reader: StoreReader, runId: string): Promise<ReadonlySet<string>> {
  const calls = new Set<string>();
  for await (const { toolCallId } of everyRecord<ToolCallAttempt>((range) =>
    reader.listToolCallAttempts(runId, range),
  ))
    calls.add(toolCallId);
  return calls;
}

async function triesOf(
  reader: StoreReader,
  runId: string,
  { toolCallId, attempt }: ToolCallRecord,
): Promise<readonly ToolCallAttempt[]> {
  const tries = await reader.listToolCallAttempts(runId, {
    after: { toolCallId, attempt: 0 },
    limit: attempt,
  });
  return tries.filter((each) => each.toolCallId === toolCallId);
}

/** The numbers of the waits about each call. */
async function waitsByCall(
  reader: StoreReader,
  runId: string,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const waits = new Map<string, number[]>();
  for await (const wait of everyRecord<WaitRecord>((range) => reader.listWaits(runId, range))) {
    if (wait.toolCallId === null) continue;
    const known = waits.get(wait.toolCallId) ?? [];
    known.push(waitIndex(wait));
    waits.set(wait.toolCallId, known);
  }
  return waits;
}

function callDocument(
  call: ToolCallRecord,
  tries: readonly ToolCallAttempt[],
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
    startedAt: isoTime(call.startedAt),
    tries: tries.map(tryDocument),
    questions: waits.map(waitDocument),
    receipt: call.receipt === null ? null : receiptDocument(call.receipt),
  };
}

function tryDocument({ toolCallId: _, startedAt, endedAt, late, ...rest }: ToolCallAttempt): JsonObject {
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
    answeredAt: isoTime(wait.answeredAt),
    answeredBy: wait.answeredBy,
    people: wait.people.map((each) => ({ ...decisionJson(each), at: isoTime(each.at) })),
    answer: wait.answer,
  };
}

function receiptDocument({ sessionEvents, at, ...rest }: Receipt): JsonObject {
  return { ...rest, at: isoTime(at), sessionEvents };
}
