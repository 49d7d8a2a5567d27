import { type ToolCallPart, toolCallsOf } from "../../core/message.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { NewReceipt, NewToolCall, StoredResponse, ToolCallRecord } from "../../store/store.ts";
import { decideCall, NO_PAST, readPast, type UndecidedCall } from "../call/call-decision.ts";
import {
  type EarlierCall,
  earlierCall,
  earlierOf,
  NO_EARLIER_CALL,
  succeededCall,
} from "../call/call-earlier-result.ts";
import {
  type CallIdentity,
  type CallRequest,
  identify,
  lacksSecret,
  makePayload,
  reidentify,
} from "../call/call-identity.ts";
import { begunProgress } from "../call/call-progress.ts";
import { callId } from "../call/tool-gateway.ts";
import { type ProvidedCall, planProvidedCalls } from "./provider-calls.ts";
import type { TurnCall } from "./turn-call-item.ts";
import { CallQueue } from "./turn-call-queue.ts";
import { ToldSession } from "./turn-events.ts";
import type { TurnScope } from "./turn-scope.ts";

/** The tool calls of one response, ready to be written to the ledger and run. */
export type TurnCalls = {
  readonly items: readonly TurnCall[];
  /** Ledger rows for the journal; those of a replayed turn are there already. */
  readonly rows: readonly NewToolCall[];
  /** Of the calls that the provider ran: they are written with the rows. */
  readonly receipts: readonly NewReceipt[];
  readonly queue: CallQueue<TurnCall>;
  /** What begins as soon as the journal is written. */
  readonly first: readonly TurnCall[];
  readonly told: ToldSession;
};

export type { TurnCall };

type PlannedCall = { readonly item: TurnCall; readonly row: NewToolCall };

/**
 * Gives every call of a response its key and what is to be done about it. `asked` is the response with the secrets that
 * its calls may hold; what is stored of it has none. `known` are the rows of a turn that an earlier worker journaled; of one
 * that is to be left, those that were never dispatched are passed over.
 */
export async function planTurnCalls(
  scope: TurnScope,
  turnIndex: number,
  stored: StoredResponse,
  options: {
    readonly asked?: StoredResponse;
    readonly known?: readonly ToolCallRecord[];
    readonly isLeft?: boolean;
  } = {},
): Promise<TurnCalls> {
  const { run } = scope;
  const { asked = stored, known } = options;
  const begunAt = run.time.clock.monotonic();
  const isOpen = known?.some(({ receipt }) => receipt === null) === true;
  const past = isOpen ? await readPast(run.store, run.runId) : NO_PAST;
  const planned: PlannedCall[] = [];
  const told = new ToldSession(run.keeper);
  const effects = new Map<string, TurnCall>();
  const askedParts = toolCallsOf(asked.content);
  for (const [i, part] of toolCallsOf(stored.content).entries()) {
    const row = known?.[i] ?? null;
    if (options.isLeft === true && row?.status === "prepared") continue;
    const given = requestOf(scope, stored, part, askedParts[i] ?? part);
    const request = { ...given, isSecretLost: row !== null && (await lacksSecret(run, given, row)) };
    const identity = row === null ? await identify(run, request) : await reidentify(run, request, row);
    const occurrence =
      row?.occurrence ??
      (await scope.conversation.occurrences.next(identity.hash, identity.dedupe, identity.keyOf));
    const subject = await caseOf(scope, turnIndex, i + 1, request, identity, occurrence, row, told);
    const effect = identity.dedupe === "effect" ? identity.hash.toString("hex") : null;
    const before = effect === null ? null : (effects.get(effect) ?? null);
    const item = itemOf(scope, part, { ...subject, past }, before);
    if (effect !== null) effects.set(effect, item);
    planned.push({ item, row: rowOf(subject, identity, occurrence) });
  }
  const before = toolCallsOf(stored.content).length;
  const provided = await planProvidedCalls(scope, stored, { turnIndex, before, known });
  const items = [...planned, ...provided].map(({ item }) => item);
  const queue = new CallQueue(
    items.filter(({ judgement: { kind } }) => kind === "work" || kind === "pending"),
    run.calls.maxParallel,
  );
  const isMisconfigured = items.some(({ judgement }) => judgement.kind === "misconfigured");
  const isAllowed = run.contract.budget.allowsToolCalls(known === undefined ? items.length : 0);
  const first = isMisconfigured || !isAllowed || run.stop.signal.aborted ? [] : queue.take();
  if (known !== undefined) return { items, rows: [], receipts: [], queue, first, told };
  // Those dispatched at once are `running` from the start; the rest wait as `prepared`. In a run that is cancelled, or may
  // call no more tools, all do.
  const begins = new Set(first.map(({ callIndex }) => callIndex));
  const rows = planned.map(({ row }) =>
    begins.has(row.callIndex) ? ({ ...row, status: "running" } as const) : row,
  );
  return {
    items,
    rows: [...rows, ...writtenOf(provided, ({ row }) => row)],
    receipts: writtenOf(provided, ({ receipt }) => receipt),
    queue,
    first: first.map((item) => begun(scope, item, begunAt)),
    told,
  };
}

function writtenOf<T>(
  provided: readonly ProvidedCall[],
  partOf: (call: ProvidedCall) => T | null,
): readonly T[] {
  return provided.map(partOf).filter((part) => part !== null);
}

function requestOf(
  { path, prepared, options }: TurnScope,
  stored: StoredResponse,
  part: ToolCallPart,
  asked: ToolCallPart,
): CallRequest {
  return {
    stepPath: path,
    name: part.toolName,
    input: part.input,
    secretInput: asked.input,
    isSecretLost: false,
    ownSecrets: [],
    tool: prepared.tools.get(part.toolName) ?? null,
    problem: ownProperty(stored.invalidCalls ?? {}, part.toolCallId) ?? null,
    enforceKeys: options.enforceIdempotency,
  };
}

async function caseOf(
  scope: TurnScope,
  turnIndex: number,
  callIndex: number,
  request: CallRequest,
  identity: CallIdentity,
  occurrence: number,
  known: ToolCallRecord | null,
  told: ToldSession,
): Promise<Omit<UndecidedCall, "past">> {
  const { run, stepKey, path, name, options } = scope;
  const idempotencyKey = known?.idempotencyKey ?? identity.keyOf(occurrence).toString("hex");
  const isSettled = known !== null && known.receipt !== null;
  const origin = known?.receipt?.duplicateOf ?? null;
  if (origin !== null && known?.receipt?.sessionEvents.length !== 0) await run.keeper.prepareReplay(origin);
  // A call that was dispatched is past the question of its identity.
  const isNew = known === null || known.status === "prepared";
  const payload =
    identity.problem !== null && isNew
      ? ({ kind: "refused", errorCode: "invalid_input", error: identity.problem } as const)
      : await makePayload(run.policy.rules, request, idempotencyKey);
  const { tool } = request;
  const isMeeting = isNew && !scope.conversation.abandoned.isNone && tool?.isSessionTool !== true;
  let earlier = isMeeting ? await earlierInLeftTurns(scope, identity) : NO_EARLIER_CALL;
  const isHarmless = tool?.recovery === "repeat" && identity.dedupe === "call";
  if (!isSettled && !isHarmless && earlier.kind === "none")
    earlier = await earlierCall(run, identity, occurrence);
  return {
    place: { stepKey, stepPath: path, stepName: name, turnIndex, callIndex },
    request,
    payload,
    idempotencyKey,
    identityHash: identity.hash.toString("hex"),
    earlier,
    sessionBase: () => told.stateBefore(callIndex),
    blobThresholdBytes: options.blobThresholdBytes,
    known,
  };
}

/** Where a new line of history asks again for what the one before it has had, that is met before anything else. */
async function earlierInLeftTurns(
  { run, conversation: { abandoned } }: TurnScope,
  identity: CallIdentity,
): Promise<EarlierCall> {
  const met = await (identity.dedupe === "call" ? abandoned.meet(identity) : abandoned.had(identity));
  return met === null ? NO_EARLIER_CALL : succeededCall(run, met);
}

function itemOf(
  { run }: TurnScope,
  part: ToolCallPart,
  subject: UndecidedCall,
  before: TurnCall | null,
): TurnCall {
  const { payload, known, place } = subject;
  const exclusive = payload.kind === "ready" && payload.tool.exclusive;
  const isSettled = known !== null && known.receipt !== null;
  const item = { callIndex: place.callIndex, exclusive, follows: null, part, subject };
  if (isSettled) return { ...item, judgement: decideCall(run, subject) };
  if (payload.kind === "misconfigured" && (known === null || known.status === "prepared"))
    return { ...item, judgement: { kind: "misconfigured", error: payload.error } };
  const state = before?.judgement.kind;
  if (before !== null && (state === "work" || state === "pending"))
    return { ...item, follows: before.callIndex, judgement: { kind: "pending" } };
  if (state === "person" || state === "held") return { ...item, judgement: { kind: "held" } };
  if (before?.judgement.kind !== "settled") return { ...item, judgement: decideCall(run, subject) };
  // What the call before it came to is not in the store yet.
  const earlier = earlierOf(callId(run, before.subject.place), before.judgement.outcome);
  return {
    ...item,
    judgement: decideCall(run, earlier.kind === "none" ? subject : { ...subject, earlier }),
  };
}

function begun({ run }: TurnScope, item: TurnCall, begunAt: number): TurnCall {
  const { judgement } = item;
  if (judgement.kind !== "work") return item;
  const progress = begunProgress(run, judgement.call.tool, begunAt);
  return { ...item, judgement: { ...judgement, progress } };
}

function rowOf(
  { request, place, idempotencyKey }: Omit<UndecidedCall, "past">,
  identity: CallIdentity,
  occurrence: number,
): NewToolCall {
  const { tool, name } = request;
  return {
    callIndex: place.callIndex,
    namespace: tool?.namespace ?? "local",
    tool: name,
    effect: tool?.effect ?? "external",
    recovery: tool?.recovery ?? "opaque",
    identityHash: identity.hash,
    occurrence,
    idempotencyKey: Buffer.from(idempotencyKey, "hex"),
    status: "prepared",
    timeoutMs: tool?.timeoutMs ?? 0,
  };
}
