import { canonicalJson } from "../../../core/canonical-json.ts";
import type { JsonObject } from "../../../core/json.ts";
import type {
  AcceptedDivergence,
  Fence,
  ModelCallSettlement,
  TurnCommit,
  TurnJournal,
  TurnOpened,
  TurnOpening,
} from "../../store.ts";
import type { Database } from "../database.ts";
import type { RunHead, TurnCallRows } from "../run-head.ts";
import { digestOf } from "../tables/digest.ts";
import { coverRow } from "../tables/event-rows.ts";
import { assertNextTurn, granularState, UNPINNED } from "../tables/granular-state.ts";
import { openModelCall, reclaim, reserve, settleFailedCall } from "../tables/model-calls.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import { writeCheckpoint, writeSession } from "../tables/session-rows.ts";
import { insertToolCall, toolCallDigest, turnCalls, writeTurnReceipt } from "../tables/tool-call-rows.ts";
import { turnNo } from "../tables/turn-number.ts";

export function openTurn(database: Database, now: number, fence: Fence, opening: TurnOpening): TurnOpened {
  const { stepKey, turnIndex, fingerprint } = opening;
  const run = fencedStep(database, fence, stepKey);
  database.run(
    `INSERT OR IGNORE INTO granular_states (step_no, turn_index, is_complete, messages, tokens, fingerprint)
     VALUES (?, 0, 0, 0, 0, ?)`,
    stepKey,
    Buffer.from(fingerprint.hash, "hex"),
  );
  // A fork accepts the first agent it is given.
  const isUnpinned = database.get(
    "SELECT 1 AS found FROM granular_states WHERE step_no = ? AND fingerprint = ?",
    stepKey,
    UNPINNED,
  );
  if (isUnpinned !== null) pin(database, run, stepKey, fingerprint);
  const isNew = database.run(
    "INSERT OR IGNORE INTO fingerprints VALUES (?, 0, ?)",
    stepKey,
    canonicalJson(fingerprint.document),
  );
  if (isNew === 1) coverRow(run, "fingerprint", stepKey, 0);
  coverRow(run, "turns", stepKey);
  const state = granularState(database, run, stepKey);
  assertNextTurn(state, turnIndex);
  const opened = openModelCall(database, run, now, opening, state);
  const step = stepHead(database, run, stepKey).path;
  const facts: JsonObject =
    opened.kind === "denied"
      ? { step, turn: turnIndex, unit: opened.unit, wanted: opened.wanted, remaining: opened.remaining }
      : { step, turn: turnIndex, attempt: opened.attempt, reserved: opened.reserved };
  recordEvent(database, run, now, opened.kind === "denied" ? "turn.denied" : "turn.opened", facts);
  return opened;
}

export function acceptDivergence(
  database: Database,
  now: number,
  fence: Fence,
  { stepKey, fingerprint, why }: AcceptedDivergence,
): void {
  const run = fencedStep(database, fence, stepKey);
  // It refuses a step without turns, which has no fingerprint yet.
  granularState(database, run, stepKey);
  pin(database, run, stepKey, fingerprint);
  recordEvent(database, run, now, "divergence.accepted", {
    step: stepHead(database, run, stepKey).path,
    why,
    fingerprint: fingerprint.hash,
  });
}

/** Pins the fingerprint of the step's current lineage. */
function pin(
  database: Database,
  run: RunHead,
  stepKey: number,
  fingerprint: TurnOpening["fingerprint"],
): void {
  database.run(
    "UPDATE granular_states SET fingerprint = ? WHERE step_no = ?",
    Buffer.from(fingerprint.hash, "hex"),
    stepKey,
  );
  coverRow(run, "turns", stepKey);
  const pinned = database.all(
    `INSERT INTO fingerprints SELECT step_no, lineage, ? FROM granular_states WHERE step_no = ?
       ON CONFLICT DO UPDATE SET document = excluded.document RETURNING lineage`,
    canonicalJson(fingerprint.document),
    stepKey,
  );
  for (const row of pinned) coverRow(run, "fingerprint", stepKey, row.int("lineage"));
}

export function settleModelCall(
  database: Database,
  now: number,
  fence: Fence,
  settlement: ModelCallSettlement,
): void {
  const run = fencedStep(database, fence, settlement.stepKey);
  settleFailedCall(database, run, now, settlement);
  const step = stepHead(database, run, settlement.stepKey).path;
  const { outage = null } = settlement;
  recordEvent(database, run, now, "model.settled", {
    step,
    ...chargeFacts(settlement),
    ...(outage === null ? {} : { outage }),
  });
}

export function journalResponse(database: Database, now: number, fence: Fence, journal: TurnJournal): void {
  const run = fencedStep(database, fence, journal.stepKey);
  const digests = writeJournal(database, run, now, journal, null);
  const { facts } = writeCheckpoint(database, run, now, journal, journal.checkpoint);
  recordEvent(database, run, now, "turn.journaled", {
    step: stepHead(database, run, journal.stepKey).path,
    ...chargeFacts(journal),
    ...digests,
    ...facts,
  });
}

export function commitTurn(
  database: Database,
  now: number,
  fence: Fence,
  commit: TurnCommit,
): { next: TurnOpened | null; checkpoint: number | null } {
  const { stepKey, turnIndex, isComplete, journal, followUp } = commit;
  const run = fencedStep(database, fence, stepKey);
  assertOneTurn(commit);
  const digests = journal === null ? {} : writeJournal(database, run, now, journal, followUp);
  if (journal === null && followUp !== null) sayAfter(database, stepKey, turnIndex, followUp);
  const receipts = writeLastReceipts(database, run, now, commit);
  assertNextTurn(granularState(database, run, stepKey), turnIndex);
  const session = writeSession(database, run, now, commit, commit.session);
  const next = commit.next === null ? null : reserve(run, commit.next, 1);
  advanceState(database, run, now, commit, next?.kind === "opened" ? next : null);
  recordEvent(database, run, now, "turn.committed", {
    step: stepHead(database, run, stepKey).path,
    turn: turnIndex,
    ...(journal === null ? {} : { ...chargeFacts(journal), ...digests }),
    ...receipts,
    ...(followUp === null ? {} : { followUp: digestOf(followUp) }),
    ...(isComplete ? { complete: true } : {}),
    ...(next?.kind === "opened" ? { reserved: next.reserved } : {}),
    ...session.facts,
  });
  return { next, checkpoint: session.checkpoint };
}

/** The journal of a commit must belong to its turn, and the reservation to the one after it. */
function assertOneTurn({ stepKey, turnIndex, journal, next, isComplete }: TurnCommit): void {
  if (journal !== null && (journal.stepKey !== stepKey || journal.turnIndex !== turnIndex))
    throw new Error(`The commit of turn ${turnIndex} carries the response of another.`);
  if (next !== null && (isComplete || next.stepKey !== stepKey || next.turnIndex !== turnIndex + 1))
    throw new Error(`The commit of turn ${turnIndex} reserves for a turn that does not follow it.`);
}

/** Moves the state of the step to the committed turn, with the reservation for the turn after it. */
function advanceState(
  database: Database,
  run: RunHead,
  now: number,
  { stepKey, turnIndex, isComplete, messages, tokens }: TurnCommit,
  opened: Extract<TurnOpened, { kind: "opened" }> | null,
): void {
  const changed = database.run(
    `UPDATE granular_states SET turn_index = ?, is_complete = ?, messages = messages + ?, tokens = tokens + ?,
            open_turn_index = ?, open_attempt = ?, opened_at = ?, reserved_tokens = ?, reserved_micro_dollars = ?
      WHERE step_no = ? AND turn_index = ? AND is_complete = 0`,
    turnIndex,
    Number(isComplete),
    messages,
    tokens,
    opened === null ? null : turnIndex + 1,
    opened?.attempt ?? null,
    opened === null ? null : now,
    opened?.reserved.tokens ?? null,
    opened?.reserved.microDollars ?? null,
    stepKey,
    turnIndex - 1,
  );
  if (changed !== 1) throw new Error(`The turns of step ${stepKey} were changed by another process.`);
  coverRow(run, "turns", stepKey);
  const state = granularState(database, run, stepKey);
  state.turnIndex = turnIndex;
  state.isComplete = isComplete;
  state.lastCall = opened === null ? null : { turnIndex: turnIndex + 1, openedAt: now, ...opened };
}

function writeJournal(
  database: Database,
  run: RunHead,
  now: number,
  journal: TurnJournal,
  followUp: string | null,
): JsonObject {
  const { stepKey, turnIndex, calls } = journal;
  const state = granularState(database, run, stepKey);
  assertNextTurn(state, turnIndex);
  const settled = reclaim(run, now, state, journal);
  const rows = insertCalls(database, run, now, journal);
  const response = JSON.stringify(journal.response);
  // The turn's number refuses a second response, and with it a second charge.
  database.run(
    `INSERT INTO turns (turn_no, step_no, turn_index, attempt, opened_at, settled_at, reserved_tokens, reserved_micro_dollars,
                        basis, charged_tokens, charged_micro_dollars, input_tokens, output_tokens,
                        cached_input_tokens, reasoning_tokens, tokens, first_call_no, calls, response, follow_up)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    turnNo(stepKey, turnIndex),
    stepKey,
    turnIndex,
    ...settled,
    journal.tokens,
    rows.firstCallNo,
    rows.calls,
    response,
    followUp,
  );
  coverRow(run, "turn", turnNo(stepKey, turnIndex));
  stepHead(database, run, stepKey).calls = rows;
  return {
    response: digestOf(response),
    ...(calls.length === 0 ? {} : { calls: calls.map((call) => toolCallDigest(call, null)) }),
  };
}

/** Inserts the calls of a response into the ledger, under consecutive numbers. */
function insertCalls(
  database: Database,
  run: RunHead,
  now: number,
  { stepKey, turnIndex, calls }: TurnJournal,
): TurnCallRows {
  const callNos = calls.map((call, i) => {
    if (call.callIndex !== i + 1)
      throw new Error(`Call ${call.callIndex} of turn ${turnIndex} is out of order.`);
    return insertToolCall(database, run, now, { ...call, stepKey, turnIndex, request: null });
  });
  const firstCallNo = callNos[0] ?? 0;
  if (callNos.some((callNo, i) => callNo !== firstCallNo + i)) throw new Error("The ledger has a gap.");
  const dispatched = calls.map(({ status }) => status === "running");
  return { turnIndex, firstCallNo, calls: calls.length, receipts: 0, dispatched };
}

function sayAfter(database: Database, stepKey: number, turnIndex: number, followUp: string): void {
  database.run("UPDATE turns SET follow_up = ? WHERE turn_no = ?", followUp, turnNo(stepKey, turnIndex));
}

/** A turn is committed with all of its receipts or not at all. Returns the digests of those written with the commit. */
function writeLastReceipts(database: Database, run: RunHead, now: number, commit: TurnCommit): JsonObject {
  const { stepKey, turnIndex, receipts } = commit;
  const turn = turnCalls(database, run, stepKey, turnIndex);
  if (turn === null) throw new Error(`Turn ${turnIndex} cannot be committed: it was never journaled.`);
  const digests = receipts.map((receipt) => [
    receipt.callIndex,
    writeTurnReceipt(database, run, now, turn, receipt),
  ]);
  if (turn.receipts === turn.calls) return digests.length === 0 ? {} : { receipts: digests };
  throw new Error(
    `Turn ${turnIndex} cannot be committed: ${turn.receipts} of its ${turn.calls} calls have a receipt.`,
  );
}

function chargeFacts({ turnIndex, attempt, charge }: ModelCallSettlement): JsonObject {
  return { turn: turnIndex, attempt, basis: charge.basis, charged: charge.amount };
}
