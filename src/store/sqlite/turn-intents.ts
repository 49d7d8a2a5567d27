import { canonicalJson } from "../../core/canonical-json.ts";
import { ResumeError } from "../../core/errors.ts";
import type {
  Fence,
  ModelCallSettlement,
  TurnCommit,
  TurnJournal,
  TurnOpened,
  TurnOpening,
} from "../store.ts";
import type { Database } from "./database.ts";
import { nextAttempt, openModelCall, settle } from "./model-calls.ts";
import { fencedRun, type RunRow, recordEvent } from "./run-row.ts";
import { insertToolCall, nextCallNo, writeReceipt } from "./tool-call-intents.ts";

export function openTurn(database: Database, now: number, fence: Fence, opening: TurnOpening): TurnOpened {
  const run = fencedRun(database, fence);
  const { stepKey, turnIndex, fingerprint } = opening;
  database.run(
    `INSERT OR IGNORE INTO granular_states (step_no, turn_index, is_complete, messages, tokens, fingerprint)
     VALUES (?, 0, 0, 0, 0, ?)`,
    stepKey,
    Buffer.from(fingerprint.hash, "hex"),
  );
  database.run(
    "INSERT OR IGNORE INTO fingerprints VALUES (?, ?)",
    stepKey,
    canonicalJson(fingerprint.document),
  );
  assertNextTurn(database, stepKey, turnIndex);
  const opened = openModelCall(database, run, now, opening, nextAttempt(database, stepKey, turnIndex));
  if (opened.kind === "denied")
    recordEvent(database, run, now, "turn.denied", { turn: turnIndex, unit: opened.unit });
  else
    recordEvent(database, run, now, "turn.opened", {
      turn: turnIndex,
      attempt: opened.attempt,
      reserved: opened.reserved,
    });
  return opened;
}

export function settleModelCall(
  database: Database,
  now: number,
  fence: Fence,
  settlement: ModelCallSettlement,
): void {
  const run = fencedRun(database, fence);
  settle(database, run, now, settlement);
  const { turnIndex, attempt, charge } = settlement;
  recordEvent(database, run, now, "model.settled", {
    turn: turnIndex,
    attempt,
    basis: charge.basis,
    charged: charge.amount,
  });
}

export function journalResponse(database: Database, now: number, fence: Fence, journal: TurnJournal): void {
  const run = fencedRun(database, fence);
  writeJournal(database, run, now, journal);
  recordEvent(database, run, now, "turn.journaled", {
    ...journalFacts(journal),
    calls: journal.calls.length,
  });
}

export function commitTurn(
  database: Database,
  now: number,
  fence: Fence,
  commit: TurnCommit,
): { next: TurnOpened | null } {
  const run = fencedRun(database, fence);
  const { stepKey, turnIndex, isComplete } = commit;
  if (commit.journal !== null) writeJournal(database, run, now, commit.journal);
  if (commit.followUp !== null) {
    database.run(
      "UPDATE turns SET follow_up = ? WHERE step_no = ? AND turn_index = ?",
      commit.followUp,
      stepKey,
      turnIndex,
    );
  }
  for (const receipt of commit.receipts) writeReceipt(database, run, now, stepKey, turnIndex, receipt);
  assertAllReceipted(database, stepKey, turnIndex);
  const changed = database.run(
    `UPDATE granular_states SET turn_index = ?, is_complete = ?, messages = messages + ?, tokens = tokens + ?
      WHERE step_no = ? AND turn_index = ? AND is_complete = 0`,
    turnIndex,
    Number(isComplete),
    commit.messages,
    commit.tokens,
    stepKey,
    turnIndex - 1,
  );
  if (changed !== 1) throw outOfStep(database, stepKey, turnIndex);
  const next = commit.next === null ? null : openModelCall(database, run, now, commit.next, 1);
  recordEvent(database, run, now, "turn.committed", {
    turn: turnIndex,
    ...(commit.journal === null ? {} : { journal: journalFacts(commit.journal) }),
    ...(isComplete ? { complete: true } : {}),
    ...(next?.kind === "opened" ? { reserved: next.reserved } : {}),
  });
  return { next };
}

function writeJournal(database: Database, run: RunRow, now: number, journal: TurnJournal): void {
  assertNextTurn(database, journal.stepKey, journal.turnIndex);
  settle(database, run, now, journal);
  const firstCallNo = nextCallNo(database);
  database.run(
    `INSERT INTO turns (step_no, turn_index, created_at, tokens, first_call_no, calls, response)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    journal.stepKey,
    journal.turnIndex,
    now,
    journal.tokens,
    firstCallNo,
    journal.calls.length,
    JSON.stringify(journal.response),
  );
  const { stepKey, turnIndex } = journal;
  journal.calls.forEach((call, i) => {
    if (call.callIndex !== i + 1)
      throw new Error(`Call ${call.callIndex} of turn ${turnIndex} is out of order.`);
    insertToolCall(database, now, { ...call, callNo: firstCallNo + i, stepKey, turnIndex, request: null });
  });
}

function journalFacts({ turnIndex, attempt, charge }: TurnJournal) {
  return { turn: turnIndex, attempt, basis: charge.basis, charged: charge.amount };
}

/** A turn is committed with all of its receipts or not at all. */
function assertAllReceipted(database: Database, stepKey: number, turnIndex: number): void {
  const turn = database.get(
    `SELECT calls, (SELECT count(*) FROM receipts
                     WHERE call_no >= first_call_no AND call_no < first_call_no + calls) AS receipts
       FROM turns WHERE step_no = ? AND turn_index = ?`,
    stepKey,
    turnIndex,
  );
  if (turn === null) throw new Error(`Turn ${turnIndex} cannot be committed: it was never journaled.`);
  if (turn.int("receipts") === turn.int("calls")) return;
  throw new Error(
    `Turn ${turnIndex} cannot be committed: of its ${turn.int("calls")} calls ${turn.int("receipts")} have a receipt.`,
  );
}

function assertNextTurn(database: Database, stepKey: number, turnIndex: number): void {
  const state = database.get(
    "SELECT turn_index, is_complete FROM granular_states WHERE step_no = ?",
    stepKey,
  );
  if (state?.int("turn_index") !== turnIndex - 1 || state.int("is_complete") === 1)
    throw outOfStep(database, stepKey, turnIndex);
}

function outOfStep(database: Database, stepKey: number, turnIndex: number): ResumeError {
  const state = database.get("SELECT turn_index FROM granular_states WHERE step_no = ?", stepKey);
  const stored = state?.int("turn_index") ?? 0;
  return new ResumeError(
    `Turn ${turnIndex} is not the next one: the store has committed ${stored}. Nothing was written; reload and go on.`,
    { irrecoverable: false, changes: [] },
  );
}
