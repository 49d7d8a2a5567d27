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
import { openModelCall, settle } from "./model-calls.ts";
import { fencedRun, type RunRow, saveRun } from "./run-row.ts";
import { insertToolCall, writeReceipt } from "./tool-call-intents.ts";

export function openTurn(database: Database, now: number, fence: Fence, opening: TurnOpening): TurnOpened {
  const run = fencedRun(database, fence);
  const { stepKey, turnIndex, fingerprint } = opening;
  database.run(
    "INSERT OR IGNORE INTO granular_states VALUES (?, 0, 0, 0, 0, ?)",
    stepKey,
    Buffer.from(fingerprint.hash, "hex"),
  );
  database.run(
    "INSERT OR IGNORE INTO fingerprints VALUES (?, ?)",
    stepKey,
    canonicalJson(fingerprint.document),
  );
  assertNextTurn(database, stepKey, turnIndex);
  const opened = openModelCall(database, run, now, opening);
  if (opened.kind === "denied")
    saveRun(database, run, now, "turn.denied", { turn: turnIndex, unit: opened.unit });
  else
    saveRun(database, run, now, "turn.opened", {
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
  run.quota = settle(database, run.quota, now, settlement);
  const { turnIndex, attempt, charge } = settlement;
  saveRun(database, run, now, "model.settled", {
    turn: turnIndex,
    attempt,
    basis: charge.basis,
    charged: charge.amount,
  });
}

export function journalResponse(database: Database, now: number, fence: Fence, journal: TurnJournal): void {
  const run = fencedRun(database, fence);
  writeJournal(database, run, now, journal);
  saveRun(database, run, now, "turn.journaled", { ...journalFacts(journal), calls: journal.calls.length });
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
  const next = commit.next === null ? null : openModelCall(database, run, now, commit.next);
  saveRun(database, run, now, "turn.committed", {
    turn: turnIndex,
    ...(commit.journal === null ? {} : { journal: journalFacts(commit.journal) }),
    ...(isComplete ? { complete: true } : {}),
    ...(next?.kind === "opened" ? { reserved: next.reserved } : {}),
  });
  return { next };
}

function writeJournal(database: Database, run: RunRow, now: number, journal: TurnJournal): void {
  assertNextTurn(database, journal.stepKey, journal.turnIndex);
  run.quota = settle(database, run.quota, now, journal);
  database.run(
    "INSERT INTO turns (step_no, turn_index, created_at, tokens, response) VALUES (?, ?, ?, ?, ?)",
    journal.stepKey,
    journal.turnIndex,
    now,
    journal.tokens,
    JSON.stringify(journal.response),
  );
  for (const call of journal.calls)
    insertToolCall(database, now, {
      ...call,
      stepKey: journal.stepKey,
      turnIndex: journal.turnIndex,
      request: null,
    });
}

function journalFacts({ turnIndex, attempt, charge }: TurnJournal) {
  return { turn: turnIndex, attempt, basis: charge.basis, charged: charge.amount };
}

/** A turn is committed with all of its receipts or not at all. */
function assertAllReceipted(database: Database, stepKey: number, turnIndex: number): void {
  const open = database.get(
    `SELECT call_index FROM tool_calls WHERE step_no = ? AND turn_index = ? AND status IN ('prepared', 'running') LIMIT 1`,
    stepKey,
    turnIndex,
  );
  if (open !== null)
    throw new Error(`Turn ${turnIndex} cannot be committed: call ${open.int("call_index")} has no receipt.`);
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
