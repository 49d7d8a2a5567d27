import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { ledgerCallsOf, textOf } from "../../core/message.ts";
import { toolCallId } from "../../core/step-path.ts";
import { waitId } from "../../core/wait.ts";
import type { EventRecord, TurnRecord, WaitRecord } from "../../store/store.ts";
import type { WatchedCall } from "./watch-event.ts";
import { exchangeComplete, exchangeEnded, taken, withdrawn } from "./watched-exchanges.ts";
import { type FactDraft, listIn, numberIn, placeIn, type WatchedRun } from "./watched-run.ts";

/** The facts of one event, in order. Their number depends on the event alone, so that cursors stay valid. */
export function draftsOf({ type, data }: EventRecord): readonly FactDraft[] {
  const facts = isJsonObject(data) ? data : {};
  const drafts = DRAFTS[type]?.(facts) ?? [];
  const waits = [...listIn(facts, "waits"), ...listIn(facts, "received")].flatMap(ofWait);
  // A run waits once its questions are asked; everything else comes first.
  return type === "run.waiting" || type === "run.stalled" ? [...waits, ...drafts] : [...drafts, ...waits];
}

const DRAFTS: { readonly [type: string]: (facts: JsonObject) => readonly FactDraft[] } = {
  "run.created": started,
  "run.enqueued": started,
  "run.forked": started,
  "run.claimed": (facts) => [() => ({ type: "run.claimed", epoch: numberIn(facts, "epoch") })],
  "turn.opened": (facts) => [
    ...taken(facts, placeIn(facts)),
    () => ({ type: "turn.opened", ...placeIn(facts), attempt: numberIn(facts, "attempt") }),
  ],
  "turn.denied": (facts) => taken(facts, placeIn(facts)),
  "turn.journaled": (facts) => [journaled(facts), ...receipts(facts)],
  "turn.committed": committed,
  "turn.dropped": (facts) => [() => ({ type: "turn.dropped", ...placeIn(facts) })],
  "lineage.begun": (facts) => {
    const { step, turn } = placeIn(facts);
    const openTurn = numberIn(facts, "openTurn");
    const baseTurn = numberIn(facts, "baseTurn");
    return [
      ...receipts({ ...facts, turn: openTurn }),
      () => ({
        type: "lineage.begun",
        step,
        firstTurn: turn,
        baseTurn,
        reason: facts.reason === "compaction" ? "compaction" : "milestone",
      }),
    ];
  },
  "exchange.ended": exchangeEnded,
  "message.withdrawn": withdrawn,
  "step.finished": (facts) => [() => ({ type: "step.finished", step: placeIn(facts).step })],
  "call.receipt": (facts) => [receipt(facts, numberIn(facts, "call"))],
  "wait.answered": ofWait,
  "run.waiting": waiting,
  "run.stalled": waiting,
  "run.succeeded": (facts) => [ended("succeeded", facts)],
  "run.failed": (facts) => [ended("failed", facts)],
  "run.cancelled": (facts) => [ended("cancelled", facts)],
};

function started(facts: JsonObject): readonly FactDraft[] {
  return [() => ({ type: "run.started", epoch: numberIn(facts, "epoch") })];
}

function waiting(): readonly FactDraft[] {
  return [
    async ({ store, runId }) => {
      const open = await store.listWaits(runId, { open: true });
      return { type: "run.waiting", open: open.map(({ waitId: id }) => id) };
    },
  ];
}

function committed(facts: JsonObject): readonly FactDraft[] {
  const place = placeIn(facts);
  const isComplete = facts.complete === true;
  const commit: FactDraft = async (run) => {
    const turn = await turnAt(run, facts);
    const text = turn === null ? "" : textOf(turn.response.content);
    return { type: "turn.committed", ...place, text, isComplete };
  };
  const next = { step: place.step, turn: place.turn + 1, attempt: 1 };
  return [
    ...(facts.response === true ? [journaled(facts)] : []),
    ...receipts(facts),
    commit,
    ...exchangeComplete(place, facts),
    ...(facts.reserved === undefined
      ? []
      : [...taken(facts, next), () => ({ type: "turn.opened", ...next }) as const]),
  ];
}

function journaled(facts: JsonObject): FactDraft {
  return async (run) => {
    const turn = await turnAt(run, facts);
    if (turn === null) return null;
    const { content } = turn.response;
    return { type: "turn.journaled", ...placeIn(facts), content, calls: callsOf(turn) };
  };
}

function callsOf({ response, calls }: TurnRecord): readonly WatchedCall[] {
  const requested = ledgerCallsOf(response.content);
  return calls.map(({ toolCallId, tool, request, callIndex }) => ({
    toolCallId,
    providerCallId: requested[callIndex - 1]?.toolCallId ?? toolCallId,
    tool,
    input: request,
  }));
}

async function turnAt({ store, runId }: WatchedRun, facts: JsonObject): Promise<TurnRecord | null> {
  const { step: stepPath, turn: turnIndex } = placeIn(facts);
  const [found] = await store.listTurns(runId, {
    after: { stepPath, turnIndex: turnIndex - 1 },
    limit: 1,
  });
  return found?.stepPath === stepPath && found.turnIndex === turnIndex ? found : null;
}

/** Those that were stored together with the event. */
function receipts(facts: JsonObject): readonly FactDraft[] {
  return listIn(facts, "receipts").flatMap((each) => (typeof each === "number" ? receipt(facts, each) : []));
}

function receipt(facts: JsonObject, callIndex: number): FactDraft {
  const { step, turn } = placeIn(facts);
  return async ({ store, runId }) => {
    const call = await store.getToolCall(toolCallId(runId, step, turn, callIndex));
    if (call === null || call.receipt === null) return null;
    const { status, output: result } = call.receipt;
    return { type: "tool.receipt", step, turn, toolCallId: call.toolCallId, tool: call.tool, status, result };
  };
}

/** A number is a wait that was opened; an object is what became of one. */
function ofWait(entry: Json): readonly FactDraft[] {
  if (typeof entry === "number") return [opened(entry)];
  if (!isJsonObject(entry) || typeof entry.wait !== "number") return [];
  const isOpen = entry.did === "reminded" || entry.did === "escalated";
  if (isOpen) return [];
  // With a source, the answer was the result of the call.
  const result = entry.source === undefined ? [] : [receipt(entry, numberIn(entry, "call"))];
  return [answered(entry.wait), ...result];
}

function opened(index: number): FactDraft {
  return async (run) => {
    const wait = await waitAt(run, index);
    if (wait === null) return null;
    const { kind, toolCallId: call, question, subject } = wait;
    return { type: "wait.opened", waitId: wait.waitId, kind, toolCallId: call, question, subject };
  };
}

function answered(index: number): FactDraft {
  return async (run) => {
    const wait = await waitAt(run, index);
    if (wait === null) return null;
    const { kind, toolCallId: call, answer, answeredBy } = wait;
    return { type: "wait.answered", waitId: wait.waitId, kind, toolCallId: call, answer, answeredBy };
  };
}

async function waitAt({ store, runId }: WatchedRun, index: number): Promise<WaitRecord | null> {
  const id = waitId(runId, index);
  const range = index === 1 ? { limit: 1 } : { after: { waitId: waitId(runId, index - 1) }, limit: 1 };
  const [found] = await store.listWaits(runId, range);
  return found?.waitId === id ? found : null;
}

function ended(status: "succeeded" | "failed" | "cancelled", facts: JsonObject): FactDraft {
  return async ({ store, runId }) => {
    const run = await store.getRun(runId);
    // One that was resumed since no longer has the error of this end.
    const isLast = run?.status === status;
    const code = typeof facts.code === "string" ? facts.code : null;
    const error = (isLast ? run.error : null) ?? (code === null ? null : { code, message: "" });
    return {
      type: "run.ended",
      status,
      output: isLast ? run.output : null,
      error: error === null ? null : { code: error.code, message: error.message },
    };
  };
}
