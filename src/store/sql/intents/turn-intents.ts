import { canonicalJson } from "../../../core/canonical-json.ts";
import type { JsonObject } from "../../../core/json.ts";
import type {
  AcceptedDivergence,
  Fence,
  ModelCallSettlement,
  NewReceipt,
  TurnCommit,
  TurnCommitted,
  TurnJournal,
  TurnOpened,
  TurnOpening,
} from "../../store.ts";
import type { GranularStateRow, RunHead, TurnCallRows } from "../run-head.ts";
import type { SqlScript } from "../script.ts";
import {
  checkTaking,
  deniedByExchange,
  endExchangeRow,
  hasJoining,
  lastExchange,
  openOf,
  writeTaking,
} from "../tables/exchange-rows.ts";
import {
  assertNextTurn,
  beginTurns,
  findGranularState,
  granularState,
  saveLineage,
  saveTurns,
  UNPINNED,
} from "../tables/granular-state.ts";
import { openModelCall, reclaim, reserve, settleFailedCall } from "../tables/model-calls.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import { writeCheckpoint, writeSession } from "../tables/session-rows.ts";
import { insertToolCall, turnCalls, writeTurnReceipt } from "../tables/tool-call-rows.ts";
import { changeRow, insertRow, putRow, type Transaction } from "../transaction.ts";

type Fingerprint = TurnOpening["fingerprint"];

export function* openTurn(tx: Transaction, fence: Fence, opening: TurnOpening): SqlScript<TurnOpened> {
  const { stepKey, turnIndex, fingerprint } = opening;
  const run = yield* fencedStep(tx, fence, stepKey);
  const taking = opening.exchange === undefined ? undefined : yield* checkTaking(tx, run, opening);
  if (taking === null) return { kind: "stale" };
  const state = yield* openedState(tx, run, stepKey, fingerprint);
  // A new exchange continues after the complete answer of the last one.
  const wasComplete = state.isComplete;
  if (taking?.open === null) state.isComplete = false;
  assertNextTurn(state, turnIndex);
  const step = (yield* stepHead(run, stepKey)).path;
  const denied = taking === undefined ? null : deniedByExchange(run, taking, opening);
  const opened = denied ?? (yield* openModelCall(tx, run, opening, state));
  if (opened.kind === "denied") {
    // An exchange that may cost nothing has its message all the same: it ends with that.
    const took =
      denied === null || taking?.open !== null ? null : yield* writeTaking(tx, run, opening, taking);
    if (took === null) state.isComplete = wasComplete;
    else saveTurns(tx, run, state);
    const { unit, wanted, remaining } = opened;
    recordEvent(tx, run, "turn.denied", { step, turn: turnIndex, unit, wanted, remaining, ...took });
    return opened;
  }
  const took = taking === undefined ? {} : yield* writeTaking(tx, run, opening, taking);
  const { attempt, reserved } = opened;
  recordEvent(tx, run, "turn.opened", { step, turn: turnIndex, attempt, reserved, ...took });
  return opened;
}

/** The state of the step, with a pinned fingerprint. A fork accepts the first agent it is given. */
function* openedState(
  tx: Transaction,
  run: RunHead,
  stepKey: number,
  fingerprint: Fingerprint,
): SqlScript<GranularStateRow> {
  const known = yield* findGranularState(run, stepKey);
  const state = known ?? (yield* beginTurns(tx, run, stepKey, hashOf(fingerprint)));
  if (known === null || UNPINNED.equals(known.fingerprint)) pin(tx, run, state, fingerprint);
  return state;
}

export function* acceptDivergence(
  tx: Transaction,
  fence: Fence,
  { stepKey, fingerprint, why, changesHash }: AcceptedDivergence,
): SqlScript<void> {
  const run = yield* fencedStep(tx, fence, stepKey);
  // It refuses a step without turns, which has no fingerprint yet.
  pin(tx, run, yield* granularState(run, stepKey), fingerprint);
  recordEvent(tx, run, "divergence.accepted", {
    step: (yield* stepHead(run, stepKey)).path,
    why,
    fingerprint: fingerprint.hash,
    ...(changesHash === undefined ? {} : { changesHash }),
  });
}

/** Pins the fingerprint of the step's current lineage. */
function pin(tx: Transaction, run: RunHead, state: GranularStateRow, fingerprint: Fingerprint): void {
  state.fingerprint = hashOf(fingerprint);
  saveLineage(tx, run, state);
  putRow(tx, run, "fingerprints", {
    step_no: state.stepNo,
    lineage: state.lineage,
    document: canonicalJson(fingerprint.document),
  });
}

function hashOf({ hash }: Fingerprint): Uint8Array {
  return Buffer.from(hash, "hex");
}

export function* settleModelCall(
  tx: Transaction,
  fence: Fence,
  settlement: ModelCallSettlement,
): SqlScript<void> {
  const run = yield* fencedStep(tx, fence, settlement.stepKey);
  yield* settleFailedCall(tx, run, settlement);
  const step = (yield* stepHead(run, settlement.stepKey)).path;
  const { outage = null, isInterrupted = false } = settlement;
  recordEvent(tx, run, "model.settled", {
    step,
    ...chargeFacts(settlement),
    ...(outage === null ? {} : { outage }),
    ...(isInterrupted ? { interrupted: true } : {}),
  });
}

export function* journalResponse(tx: Transaction, fence: Fence, journal: TurnJournal): SqlScript<void> {
  const run = yield* fencedStep(tx, fence, journal.stepKey);
  const turn = yield* writeJournal(tx, run, journal, null);
  const receipts = yield* writeReceipts(tx, run, turn, journal.receipts ?? []);
  const { facts } = yield* writeCheckpoint(tx, run, journal, journal.checkpoint);
  recordEvent(tx, run, "turn.journaled", {
    step: (yield* stepHead(run, journal.stepKey)).path,
    ...journalFacts(journal),
    ...receipts,
    ...facts,
  });
}

export function* commitTurn(tx: Transaction, fence: Fence, commit: TurnCommit): SqlScript<TurnCommitted> {
  const { stepKey, turnIndex, journal, followUp } = commit;
  const run = yield* fencedStep(tx, fence, stepKey);
  assertOneTurn(commit);
  if (journal !== null) yield* writeJournal(tx, run, journal, followUp);
  else if (followUp !== null)
    changeRow(tx, run, "turns", { step_no: stepKey, turn_index: turnIndex }, { follow_up: followUp });
  const receipts = yield* writeLastReceipts(tx, run, commit);
  const state = yield* granularState(run, stepKey);
  assertNextTurn(state, turnIndex);
  const session = yield* writeSession(tx, run, commit, commit.session);
  const ended = commit.isComplete ? yield* endOfExchange(tx, run, commit) : null;
  const isComplete = commit.isComplete && ended !== "continues";
  const { next, took } = yield* openNext(tx, run, commit.next);
  advanceState(
    state,
    { ...commit, isComplete },
    next?.kind === "opened" ? { ...next, openedAt: tx.now } : null,
  );
  saveTurns(tx, run, state);
  recordEvent(tx, run, "turn.committed", {
    step: (yield* stepHead(run, stepKey)).path,
    turn: turnIndex,
    ...(journal === null ? {} : journalFacts(journal)),
    ...receipts,
    ...(isComplete ? { complete: true } : {}),
    ...(typeof ended === "number" ? { ended } : {}),
    ...(next?.kind === "opened" ? { reserved: next.reserved, ...took } : {}),
    ...session.facts,
  });
  return { next, checkpoint: session.checkpoint, isComplete };
}

/** Reserves for the turn after a commit, and takes its messages. */
function* openNext(
  tx: Transaction,
  run: RunHead,
  opening: TurnOpening | null,
): SqlScript<{ readonly next: TurnOpened | null; readonly took: JsonObject }> {
  if (opening === null) return { next: null, took: {} };
  if (opening.exchange === undefined) return { next: reserve(run, opening, 1), took: {} };
  const taking = yield* checkTaking(tx, run, opening);
  if (taking === null) return { next: { kind: "stale" }, took: {} };
  const next = deniedByExchange(run, taking, opening) ?? reserve(run, opening, 1);
  return { next, took: next.kind === "opened" ? yield* writeTaking(tx, run, opening, taking) : {} };
}

/**
 * The number of the exchange, which ends with its complete answer. It continues if a message of its sender came while the
 * agent answered. Null if the step is no conversation.
 */
function* endOfExchange(
  tx: Transaction,
  run: RunHead,
  { stepKey, turnIndex, unlessMessages }: TurnCommit,
): SqlScript<number | "continues" | null> {
  if (unlessMessages !== true) return null;
  const exchange = openOf(yield* lastExchange(run, stepKey));
  if (exchange === null) throw new Error(`Turn ${turnIndex} belongs to no open exchange.`);
  const isStopped = exchange.optionalInt("stop_requested_at") !== null;
  if (!isStopped && (yield* hasJoining(run, exchange))) return "continues";
  endExchangeRow(tx, run, exchange, turnIndex, { outcome: "complete", why: null });
  return exchange.int("exchange_no");
}

/** The journal of a commit must belong to its turn, and the reservation to the one after it. */
function assertOneTurn({ stepKey, turnIndex, journal, next, isComplete }: TurnCommit): void {
  if (journal !== null && (journal.stepKey !== stepKey || journal.turnIndex !== turnIndex))
    throw new Error(`The commit of turn ${turnIndex} carries the response of another.`);
  if (next !== null && (isComplete || next.stepKey !== stepKey || next.turnIndex !== turnIndex + 1))
    throw new Error(`The commit of turn ${turnIndex} reserves for a turn that does not follow it.`);
}

type OpenedCall = Extract<TurnOpened, { kind: "opened" }> & { readonly openedAt: number };

/** Moves the state of the step to the committed turn, with the reservation for the turn after it. */
function advanceState(
  state: GranularStateRow,
  { turnIndex, isComplete, messages, tokens }: TurnCommit,
  opened: OpenedCall | null,
): void {
  state.turnIndex = turnIndex;
  state.isComplete = isComplete;
  state.messages += messages;
  state.tokens += tokens;
  if (opened === null) {
    state.lastCall = null;
    return;
  }
  const { attempt, reserved, openedAt } = opened;
  state.lastCall = { turnIndex: turnIndex + 1, attempt, openedAt, reserved };
}

function* writeJournal(
  tx: Transaction,
  run: RunHead,
  journal: TurnJournal,
  followUp: string | null,
): SqlScript<TurnCallRows> {
  const { stepKey, turnIndex } = journal;
  const state = yield* granularState(run, stepKey);
  assertNextTurn(state, turnIndex);
  const step = yield* stepHead(run, stepKey);
  // The head has the calls of a turn that is journaled and not committed.
  if (step.calls?.turnIndex === turnIndex)
    throw new Error(`Turn ${turnIndex} is journaled already: a response is charged once.`);
  const settled = reclaim(tx, run, state, journal);
  const calls = insertCalls(tx, run, journal);
  insertRow(tx, run, "turns", {
    step_no: stepKey,
    turn_index: turnIndex,
    ...settled,
    tokens: journal.tokens,
    first_call_no: calls.firstCallNo,
    calls: calls.calls,
    response: JSON.stringify(journal.response),
    follow_up: followUp,
  });
  step.calls = calls;
  return calls;
}

/** Inserts the calls of a response into the ledger, under consecutive numbers. */
function insertCalls(
  tx: Transaction,
  run: RunHead,
  { stepKey, turnIndex, calls }: TurnJournal,
): TurnCallRows {
  const firstCallNo = calls.length === 0 ? 0 : run.counts.calls + 1;
  for (const [i, call] of calls.entries()) {
    if (call.callIndex !== i + 1)
      throw new Error(`Call ${call.callIndex} of turn ${turnIndex} is out of order.`);
    insertToolCall(tx, run, { ...call, stepKey, turnIndex, request: null });
  }
  const dispatched = calls.map(({ status }) => status === "running");
  return { turnIndex, firstCallNo, calls: calls.length, receipts: new Set(), dispatched };
}

/** A turn is committed with all of its receipts or not at all. Returns the facts of those written with the commit. */
function* writeLastReceipts(tx: Transaction, run: RunHead, commit: TurnCommit): SqlScript<JsonObject> {
  const { stepKey, turnIndex } = commit;
  const turn = yield* turnCalls(run, stepKey, turnIndex);
  if (turn === null) throw new Error(`Turn ${turnIndex} cannot be committed: it was never journaled.`);
  const facts = yield* writeReceipts(tx, run, turn, commit.receipts);
  if (turn.receipts.size === turn.calls) return facts;
  throw new Error(
    `Turn ${turnIndex} cannot be committed: ${turn.receipts.size} of its ${turn.calls} calls have a receipt.`,
  );
}

/** Returns the numbers of the calls that got their receipt, for the event. */
function* writeReceipts(
  tx: Transaction,
  run: RunHead,
  turn: TurnCallRows,
  receipts: readonly NewReceipt[],
): SqlScript<JsonObject> {
  for (const receipt of receipts) yield* writeTurnReceipt(tx, run, turn, receipt);
  return receipts.length === 0 ? {} : { receipts: receipts.map(({ callIndex }) => callIndex) };
}

/** The facts of a response: its charge, and the numbers of its calls. */
function journalFacts(journal: TurnJournal): JsonObject {
  const calls = journal.calls.map(({ callIndex }) => callIndex);
  return { ...chargeFacts(journal), response: true, ...(calls.length === 0 ? {} : { calls }) };
}

export function chargeFacts({ turnIndex, attempt, charge }: ModelCallSettlement): JsonObject {
  return { turn: turnIndex, attempt, basis: charge.basis, charged: charge.amount };
}
