import { type ToolCallPart, toolCallsOf } from "../../core/message.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { NewReceipt, NewToolCall, StoredResponse, ToolCallRecord } from "../../store/store.ts";
import { decideCall, NO_CALL_HISTORY, readCallHistory, type UndecidedCall } from "../call/call-decision.ts";
import {
  asEarlierCall,
  type EarlierCall,
  earlierCall,
  NO_EARLIER_CALL,
  succeededCall,
} from "../call/call-earlier-result.ts";
import { type CallIdentity, identify, lacksSecret, reidentify } from "../call/call-identity.ts";
import { makePayload } from "../call/call-payload.ts";
import { callId } from "../call/call-prepared.ts";
import { begunProgress } from "../call/call-progress.ts";
import { type CallRequest } from "../call/call-request.ts";
import type { OpenTurnMode } from "./loaded-conversation.ts";
import { planProviderCalls } from "./provider-calls.ts";
import type { TurnCall } from "./turn-call.ts";
import { CallQueue } from "./turn-call-queue.ts";
import { TurnEvents } from "./turn-events.ts";
import type { TurnScope } from "./turn-scope.ts";

/** The tool calls of one response, ready to be written to the ledger and run. */
export type TurnCalls = {
  readonly items: readonly TurnCall[];
  /** Ledger rows to journal. Empty for a replayed turn: its rows exist. */
  readonly rows: readonly NewToolCall[];
  /** Receipts of the calls that the provider ran, written with the rows. */
  readonly receipts: readonly NewReceipt[];
  readonly queue: CallQueue<TurnCall>;
  /** The calls that begin as soon as the journal is written. */
  readonly first: readonly TurnCall[];
  readonly events: TurnEvents;
};

type PlannedCall = { readonly item: TurnCall; readonly row: NewToolCall };

export type TurnCallPlanOptions = {
  /** The response with the secrets that its calls may hold. The stored one has none. */
  readonly unredacted?: StoredResponse;
  /** The rows of a turn that an earlier worker journaled. */
  readonly known?: readonly ToolCallRecord[];
  /** `abandon` plans only the calls that were dispatched. */
  readonly mode?: OpenTurnMode;
};

/** Assigns a key to every call of a response, and plans what to do about it. */
export async function planTurnCalls(
  scope: TurnScope,
  turnIndex: number,
  stored: StoredResponse,
  options: TurnCallPlanOptions = {},
): Promise<TurnCalls> {
  const { run } = scope;
  const { unredacted = stored, known } = options;
  const begunAt = run.time.clock.monotonic();
  const isOpen = known?.some(({ receipt }) => receipt === null) === true;
  const history = isOpen ? await readCallHistory(run.store, run.runId) : NO_CALL_HISTORY;
  const planned: PlannedCall[] = [];
  const events = new TurnEvents(run.keeper);
  const effects = new Map<string, TurnCall>();
  const unredactedParts = toolCallsOf(unredacted.content);
  for (const [i, part] of toolCallsOf(stored.content).entries()) {
    const row = known?.[i] ?? null;
    if (options.mode === "abandon" && row?.status === "prepared") continue;
    const given = callRequest(scope, stored, part, unredactedParts[i] ?? part);
    const request = { ...given, isSecretLost: row !== null && (await lacksSecret(run, given, row)) };
    const identity = row === null ? await identify(run, request) : await reidentify(run, request, row);
    const occurrence =
      row?.occurrence ??
      (await scope.conversation.occurrences.next(identity.hash, identity.dedupe, identity.keyOf));
    const place = { turnIndex, callIndex: i + 1 };
    const requested = { request, identity, occurrence, known: row, events };
    const undecided = await undecidedCall(scope, place, requested);
    const effect = identity.dedupe === "effect" ? identity.hash.toString("hex") : null;
    const before = effect === null ? null : (effects.get(effect) ?? null);
    const item = turnCall(scope, part, { ...undecided, history }, before);
    if (effect !== null) effects.set(effect, item);
    planned.push({ item, row: newRow(undecided, identity, occurrence) });
  }
  const callsBefore = toolCallsOf(stored.content).length;
  const provided = await planProviderCalls(scope, stored, { turnIndex, callsBefore, known });
  const items = [...planned, ...provided].map(({ item }) => item);
  const queue = new CallQueue(
    items.filter(({ plan: { kind } }) => kind === "work" || kind === "pending"),
    run.calls.maxParallel,
  );
  const isMisconfigured = items.some(({ plan }) => plan.kind === "misconfigured");
  const isAllowed = run.contract.budget.allowsToolCalls(known === undefined ? items.length : 0);
  const first = isMisconfigured || !isAllowed || run.stop.signal.aborted ? [] : queue.take();
  if (known !== undefined) return { items, rows: [], receipts: [], queue, first, events };
  // Calls that are dispatched at once are `running` from the start; the rest wait as `prepared`. In a run that is cancelled
  // or may call no more tools, all of them wait.
  const begins = new Set(first.map(({ callIndex }) => callIndex));
  const rows = planned.map(({ row }) =>
    begins.has(row.callIndex) ? ({ ...row, status: "running" } as const) : row,
  );
  return {
    items,
    rows: [...rows, ...present(provided.map(({ row }) => row))],
    receipts: present(provided.map(({ receipt }) => receipt)),
    queue,
    first: first.map((item) => withBegunAttempt(scope, item, begunAt)),
    events,
  };
}

function present<T>(parts: readonly (T | null)[]): readonly T[] {
  return parts.filter((part) => part !== null);
}

function callRequest(
  { path, prepared, options }: TurnScope,
  stored: StoredResponse,
  part: ToolCallPart,
  unredacted: ToolCallPart,
): CallRequest {
  const tool = prepared.tools.get(part.toolName) ?? null;
  const problem = ownProperty(stored.invalidCalls ?? {}, part.toolCallId) ?? null;
  return {
    stepPath: path,
    name: part.toolName,
    input: part.input,
    secretInput: unredacted.input,
    isSecretLost: false,
    ownSecrets: [],
    tool,
    problem: tool === null ? (problem ?? unknownTool(part.toolName, prepared.tools)) : problem,
    enforceKeys: options.enforceIdempotency,
  };
}

/** For the model: most often it misspelt one of these. */
function unknownTool(name: string, tools: TurnScope["prepared"]["tools"]): string {
  const known = [...tools.keys()].join(", ");
  return `There is no tool ${JSON.stringify(name)}. ${known === "" ? "No tools are available." : `The tools are: ${known}.`}`;
}

/** A call that the response asks for, with its row if an earlier worker wrote one. */
type RequestedCall = {
  readonly request: CallRequest;
  readonly identity: CallIdentity;
  readonly occurrence: number;
  readonly known: ToolCallRecord | null;
  readonly events: TurnEvents;
};

async function undecidedCall(
  scope: TurnScope,
  { turnIndex, callIndex }: { readonly turnIndex: number; readonly callIndex: number },
  { request, identity, occurrence, known, events }: RequestedCall,
): Promise<Omit<UndecidedCall, "history">> {
  const { run, stepKey, path, name, options } = scope;
  const idempotencyKey = known?.idempotencyKey ?? identity.keyOf(occurrence).toString("hex");
  const isSettled = known !== null && known.receipt !== null;
  const origin = known?.receipt?.duplicateOf ?? null;
  if (origin !== null && known?.receipt?.sessionEvents.length !== 0) await run.keeper.prepareReplay(origin);
  // For a call that was dispatched, a problem with its identity no longer matters.
  const isNew = known === null || known.status === "prepared";
  const payload =
    identity.problem !== null && isNew
      ? ({ kind: "refused", errorCode: "invalid_input", error: identity.problem } as const)
      : await makePayload(run.policy.rules, request, idempotencyKey);
  const { tool } = request;
  const mayReuse = isNew && !scope.conversation.abandoned.isEmpty && tool?.isSessionTool !== true;
  let earlier = mayReuse ? await earlierInAbandonedTurns(scope, identity) : NO_EARLIER_CALL;
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
    comparable:
      mayReuse || identity.dedupe === "effect" ? await identity.comparable(request.input) : request.input,
    sessionBase: () => events.stateBefore(callIndex),
    blobThresholdBytes: options.blobThresholdBytes,
    known,
  };
}

/** A new lineage that asks again for an effect of an abandoned turn reuses its receipt first. */
async function earlierInAbandonedTurns(
  { run, conversation: { abandoned } }: TurnScope,
  identity: CallIdentity,
): Promise<EarlierCall> {
  const reused = await (identity.dedupe === "call"
    ? abandoned.reuse(identity)
    : abandoned.findSucceeded(identity));
  return reused === null ? NO_EARLIER_CALL : succeededCall(run, identity, reused);
}

function turnCall(
  { run }: TurnScope,
  part: ToolCallPart,
  undecided: UndecidedCall,
  before: TurnCall | null,
): TurnCall {
  const { payload, known, place } = undecided;
  const exclusive = payload.kind === "ready" && payload.tool.exclusive;
  const isSettled = known !== null && known.receipt !== null;
  const item = { callIndex: place.callIndex, exclusive, follows: null, part, undecided };
  if (isSettled) return { ...item, plan: decideCall(run, undecided) };
  if (payload.kind === "misconfigured" && (known === null || known.status === "prepared"))
    return { ...item, plan: { kind: "misconfigured", error: payload.error } };
  const state = before?.plan.kind;
  if (before !== null && (state === "work" || state === "pending"))
    return { ...item, follows: before.callIndex, plan: { kind: "pending" } };
  if (state === "person" || state === "held") return { ...item, plan: { kind: "held" } };
  if (before?.plan.kind !== "settled") return { ...item, plan: decideCall(run, undecided) };
  // The outcome of the call before it is not in the store yet.
  const { outcome, duplicate } = before.plan;
  const firstRequest = duplicate?.firstRequest ?? before.undecided.comparable;
  const earlier = asEarlierCall(callId(run, before.undecided.place), outcome, firstRequest);
  return {
    ...item,
    plan: decideCall(run, earlier.kind === "none" ? undecided : { ...undecided, earlier }),
  };
}

function withBegunAttempt({ run }: TurnScope, item: TurnCall, begunAt: number): TurnCall {
  const { plan } = item;
  if (plan.kind !== "work") return item;
  const progress = begunProgress(run, plan.call.tool, begunAt);
  return { ...item, plan: { ...plan, progress } };
}

function newRow(
  { request, place, idempotencyKey }: Omit<UndecidedCall, "history">,
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
