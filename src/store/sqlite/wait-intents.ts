import { assertPayload, canonicalJson } from "../../core/canonical-json.ts";
import { AlreadySettledError, ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import { approvalNeedOf, decisionOf, judgeApproval, type Person, personFacts } from "../../core/person.ts";
import { estimateResultTokens, estimateTokens } from "../../core/token-estimate.ts";
import { type NewCallWait, type NewWait, type Settlement, type WaitAnswer } from "../../core/wait.ts";
import type { NewReceipt } from "../store.ts";
import type { Database, Row } from "./database.ts";
import {
  aboutDoubt,
  callOf,
  type FoundCall,
  type FoundWait,
  openWait,
  openWaitOf,
  runOfCall,
} from "./found-wait.ts";
import { endWaiting, raiseBudget } from "./run-budgets.ts";
import type { RunHead } from "./run-head.ts";
import { type RunRow, saveRun, startedBy } from "./run-row.ts";
import { touch } from "./told-rows.ts";
import { callNoAt, hasReceipt, receiptFacts, withdrawWaits, writeAnyReceipt } from "./tool-call-rows.ts";
import { argumentsHashOf, namesOf, peopleText, storedAnswerDigest } from "./wait-readers.ts";

/**
 * Opens a wait for each question that is neither open nor answered already and whose call is not settled; there is one
 * open question about a call. Gives their numbers.
 */
export function openWaits(database: Database, run: RunRow, now: number, waits: readonly NewWait[]): number[] {
  return waits.flatMap((wait) => {
    if (wait.kind === "budget") {
      if (isAskedAboutBudget(database, run, wait.subject.budget)) return [];
      run.hasOpenWaits = true;
      return [insertWait(database, run, now, null, { ...wait, argumentsHash: null })];
    }
    const callNo = callNoAt(database, run, wait);
    if (hasReceipt(database, callNo)) return [];
    const newest = database.get(
      `SELECT kind, arguments_hash, waits.status FROM waits JOIN tool_calls USING (call_no, attempt)
        WHERE waits.run_no = ? AND call_no = ? ORDER BY wait_index DESC LIMIT 1`,
      run.runNo,
      callNo,
    );
    // A person may have answered while the worker was on its way to ask.
    if (newest !== null && isSameQuestion(newest, wait)) return [];
    // Asked about another try, or other arguments than would go out now: that question has no answer any more.
    run.hasOpenWaits = true;
    withdrawWaits(database, run, now, callNo);
    return [insertWait(database, run, now, callNo, wait)];
  });
}

function isAskedAboutBudget(database: Database, run: RunRow, budget: string): boolean {
  const open = database.get(
    `SELECT 1 AS found FROM waits WHERE run_no = ? AND kind = 'budget' AND status = 'open'
        AND json_extract(subject, '$.budget') = ? LIMIT 1`,
    run.runNo,
    budget,
  );
  return open !== null;
}

/** Somebody has said by another way how much it may be. */
export function withdrawBudgetWaits(
  database: Database,
  run: RunRow,
  now: number,
  budgets: readonly string[],
): void {
  for (const budget of budgets) {
    const withdrawn = database.all(
      `UPDATE waits SET status = 'withdrawn', answered_at = ? WHERE run_no = ? AND kind = 'budget' AND status = 'open'
          AND json_extract(subject, '$.budget') = ? RETURNING wait_index`,
      now,
      run.runNo,
      budget,
    );
    for (const wait of withdrawn) touch(run, "question", run.runNo, wait.int("wait_index"));
  }
}

/** About the same try, a doubt is a doubt, whether or not its tool asked for a person by itself. */
function isSameQuestion(row: Row, { kind, argumentsHash }: NewCallWait): boolean {
  if (row.text("status") === "withdrawn") return false;
  if (kind === "approval" || row.text("kind") === "approval")
    return row.text("kind") === kind && argumentsHashOf(row) === argumentsHash;
  return true;
}

function insertWait(
  database: Database,
  run: RunRow,
  now: number,
  callNo: number | null,
  wait: Pick<NewWait, "kind" | "question" | "subject"> & Pick<NewCallWait, "argumentsHash">,
): number {
  const last = database.get("SELECT max(wait_index) AS n FROM waits WHERE run_no = ?", run.runNo);
  const index = (last?.optionalInt("n") ?? 0) + 1;
  database.run(
    `INSERT INTO waits (run_no, wait_index, kind, call_no, attempt, question, subject, arguments_hash, status, created_at)
     VALUES (?1, ?2, ?3, ?4, coalesce((SELECT attempt FROM tool_calls WHERE call_no = ?4), 0), ?5, ?6, ?7, 'open', ?8)`,
    run.runNo,
    index,
    wait.kind,
    callNo,
    wait.question,
    canonicalJson(wait.subject),
    wait.argumentsHash === null ? null : Buffer.from(wait.argumentsHash, "hex"),
    now,
  );
  touch(run, "question", run.runNo, index);
  return index;
}

/** A run whose last question is answered waits for nobody: whoever works may go on with it. */
export function queueIfAnswered(database: Database, run: RunRow, now: number): void {
  if (run.status !== "waiting") return;
  const open = database.get(
    "SELECT 1 AS found FROM waits WHERE run_no = ? AND status = 'open' LIMIT 1",
    run.runNo,
  );
  if (open !== null) return;
  run.status = "queued";
  endWaiting(run, now);
}

/** Lets a call run; or, where that takes more people, keeps that this one has and leaves the question open. */
export function approve(database: Database, now: number, id: string, person: Person): void {
  const { run, wait } = openWait(database, id, "approval");
  const need = approvalNeedOf(wait.subject);
  const starter = need.notStarter ? startedBy(database, run.runId) : null;
  const decision = decisionOf(person, now);
  const verdict = judgeApproval(need, starter, wait.people, decision);
  if (verdict.kind === "again")
    throw new AlreadySettledError(`Wait ${id} stays open: ${verdict.why}.`, { id, status: "open" });
  if (verdict.kind === "refused") throw new ConfigurationError(`Wait ${id} is not approved: ${verdict.why}.`);
  if (verdict.kind === "enough") {
    closeWait(database, run, now, wait, { approved: true }, person);
    return;
  }
  database.run(
    "UPDATE waits SET answered_by = ? WHERE run_no = ? AND wait_index = ? AND status = 'open'",
    peopleText([...wait.people, decision]),
    run.runNo,
    wait.index,
  );
  saveRun(database, run, now, "wait.approved", {
    wait: wait.index,
    ...personFacts(decision),
    needed: verdict.needed,
    answer: answerDigest(database, run, wait.index),
    ...callFacts(wait),
  });
}

function callFacts({ call }: FoundWait): JsonObject {
  return call === null ? {} : { step: call.step, turn: call.turnIndex, call: call.callIndex };
}

export function deny(database: Database, now: number, id: string, why: string, person: Person): void {
  const { run, wait } = openWait(database, id, "approval", "budget");
  closeWait(database, run, now, wait, { approved: false, why: assertReason(why) }, person);
}

export function answer(database: Database, now: number, id: string, value: Json, person: Person): void {
  const { run, wait } = openWait(database, id, "escalation", "question", "budget");
  assertPayload(value, "The answer");
  const answered = { as: "answered", value } as const;
  if (wait.kind === "budget") {
    raiseBudget(run, now, wait.subject.budget, numberOf(value));
    closeWait(database, run, now, wait, answered, person);
    return;
  }
  if (wait.kind === "question") {
    assertChoice(id, wait.subject, value);
    // It was asked for an answer, so this is its result.
    closeWait(database, run, now, wait, answered, person, (call) =>
      settleCall(database, run, now, call, {
        status: "succeeded",
        output: resultOf(value),
        errorCode: null,
        uncertain: false,
      }),
    );
    return;
  }
  const said = typeof value === "string" ? value : canonicalJson(value);
  const output = { type: "error-text", value: `It needed a person, who answered: ${said}` } as const;
  const uncertain = mayHaveHappened(database, run, wait);
  closeWait(database, run, now, wait, answered, person, (call) =>
    settleCall(database, run, now, call, { status: "failed", output, errorCode: "answered", uncertain }),
  );
}

/** People write numbers as texts. A text without a number in it is none. */
function numberOf(value: Json): Json {
  return typeof value === "string" && value.trim() !== "" ? Number(value) : value;
}

/** Whoever asked with answers to choose from can do nothing with another one. */
function assertChoice(id: string, { arguments: asked }: JsonObject, value: Json): void {
  const choices = isJsonObject(asked) && Array.isArray(asked.choices) ? asked.choices : null;
  if (choices === null || choices.some((choice) => choice === value)) return;
  throw new ConfigurationError(
    `${JSON.stringify(value)} is none of the answers to ${id}: use one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}.`,
  );
}

/** An answer is no settlement. A tool that asked for a person by itself did so in place of its work. */
function mayHaveHappened(database: Database, run: RunRow, { call }: FoundWait): boolean {
  if (call === null) return false;
  const row = database.get("SELECT recovery FROM tool_calls WHERE call_no = ?", call.callNo);
  if (row?.text("recovery") === "repeat") return false;
  const other = database.get(
    `SELECT 1 AS found FROM tool_call_tries
      WHERE run_no = ? AND call_no = ? AND outcome NOT IN ('needs_human', 'not_applied') LIMIT 1`,
    run.runNo,
    call.callNo,
  );
  return other !== null;
}

export function settle(
  database: Database,
  now: number,
  id: string,
  settlement: Settlement,
  person: Person,
): void {
  const run = runOfCall(database, id);
  const call = callOf(database, run, id);
  if (call.status !== "in_doubt")
    throw new AlreadySettledError(
      `Call ${id} is ${call.status} and not in doubt: there is nothing to settle, and it stays as it is.`,
      { id, status: call.status },
    );
  assertUnanswered(database, run, call, id);
  const said = receiptOf(id, settlement);
  const asked = openWaitOf(database, run, call);
  const wait = asked ?? recordWait(database, run, now, call);
  closeWait(database, run, now, wait, settlement, person, () =>
    said === null ? {} : settleCall(database, run, now, call, said),
  );
}

/** A call that is to run again stays in doubt until a worker starts it, and the question about that try has its answer. */
function assertUnanswered(database: Database, run: RunRow, call: FoundCall, id: string): void {
  const answered = database.get(
    `SELECT answered_by, answered_at FROM waits JOIN tool_calls USING (call_no, attempt)
      WHERE waits.run_no = ? AND call_no = ? AND waits.status = 'answered' AND json_extract(answer, '$.as') = 'retry' LIMIT 1`,
    run.runNo,
    call.callNo,
  );
  if (answered === null) return;
  throw new AlreadySettledError(
    `Call ${id} was settled by ${namesOf(answered)}, who let it run again: that stays as it is; resume run ${run.runId}, or cancel it.`,
    { id, status: "answered" },
  );
}

/** As a tool that returns the same would leave it. */
function resultOf(value: Json): ToolOutput {
  return typeof value === "string" ? { type: "text", value } : { type: "json", value };
}

/** What a person says becomes the receipt; null where the call is to run again. */
function receiptOf(id: string, settlement: Settlement): SaidReceipt | null {
  switch (settlement.as) {
    case "succeeded":
      assertPayload(settlement.result, "The result");
      return {
        status: "succeeded",
        output: resultOf(settlement.result),
        errorCode: null,
        uncertain: false,
      };
    case "failed": {
      const value = `It was settled as failed: ${assertReason(settlement.why)}`;
      return {
        status: "failed",
        output: { type: "error-text", value },
        errorCode: "settled_failed",
        uncertain: false,
      };
    }
    case "retry":
      return null;
    default:
      throw new ConfigurationError(
        `Call ${id} cannot be settled as ${JSON.stringify((settlement as { as?: unknown }).as)}: use succeeded, retry or failed.`,
      );
  }
}

type SaidReceipt = Pick<NewReceipt, "status" | "output" | "errorCode" | "uncertain">;
/** Written at once, so that a late receipt does not come between what a person said and what is done about it. */
function settleCall(
  database: Database,
  run: RunRow,
  now: number,
  call: FoundCall,
  said: SaidReceipt,
): JsonObject {
  const receipt: NewReceipt = {
    ...said,
    callIndex: call.callIndex,
    blob: null, // What people write is as long as people write.
    tokens: estimateResultTokens(said.output, JSON.stringify(said.output.value), estimateTokens),
    source: "person",
    correlationId: null,
    duplicateOf: null,
  };
  const digest = writeAnyReceipt(database, run, now, call, receipt);
  return receiptFacts(call.step, call.turnIndex, receipt, digest);
}

/** Nobody asked; who settled it, and why, is kept all the same. */
function recordWait(database: Database, run: RunRow, now: number, call: FoundCall): FoundWait {
  const wait = { kind: "in_doubt", question: "", subject: {}, argumentsHash: null } as const;
  return aboutDoubt(insertWait(database, run, now, call.callNo, wait), false, call);
}

/** The answer, and the receipt that it may be, in this order: a settled call withdraws what is still open about it. */
function closeWait(
  database: Database,
  run: RunRow,
  now: number,
  wait: FoundWait,
  said: WaitAnswer,
  person: Person,
  settleIt: (call: FoundCall) => JsonObject = () => ({}),
): void {
  const { index, wasAsked, call } = wait;
  const decision = decisionOf(person, now);
  database.run(
    `UPDATE waits SET status = 'answered', answered_at = ?, answered_by = ?, answer = ?
      WHERE run_no = ? AND wait_index = ? AND status = 'open'`,
    now,
    peopleText([...("approved" in said && said.approved ? wait.people : []), decision]),
    canonicalJson(said),
    run.runNo,
    index,
  );
  touch(run, "question", run.runNo, index);
  const receipt = call === null ? {} : settleIt(call);
  // A run that was paused was not asked about this, and goes on when whoever paused it says so.
  if (wasAsked) queueIfAnswered(database, run, now);
  saveRun(database, run, now, "wait.answered", {
    wait: index,
    ...personFacts(decision),
    answer: answerDigest(database, run, index),
    ...callFacts(wait),
    ...receipt,
  });
}

/**
 * These calls are to be no more: what is still asked about them is withdrawn, and what was said of them is kept, about no
 * call. Gives the numbers of those answers, each with its digest as it is from now on.
 */
export function partWaitsFromCalls(
  database: Database,
  run: RunHead,
  now: number,
  firstCallNo: number,
  lastCallNo: number,
): Json[] {
  const calls = [run.runNo, firstCallNo, lastCallNo] as const;
  const about = "WHERE run_no = ? AND call_no BETWEEN ? AND ?";
  const answered = database.all(
    `SELECT wait_index FROM waits ${about} AND answered_by IS NOT NULL`,
    ...calls,
  );
  database.run(
    `UPDATE waits SET status = 'withdrawn', answered_at = ? ${about} AND status = 'open'`,
    now,
    ...calls,
  );
  for (const wait of database.all(`UPDATE waits SET call_no = NULL ${about} RETURNING wait_index`, ...calls))
    touch(run, "question", run.runNo, wait.int("wait_index"));
  return answered.map((row) => [row.int("wait_index"), answerDigest(database, run, row.int("wait_index"))]);
}

/** Who said what, and about which arguments. */
function answerDigest(database: Database, run: RunHead, index: number): string {
  const row = database.get("SELECT * FROM waits WHERE run_no = ? AND wait_index = ?", run.runNo, index);
  if (row === null) throw new Error(`Wait ${index} of run ${run.runId} is gone.`);
  return storedAnswerDigest(row);
}

function assertReason(why: unknown): string {
  if (typeof why === "string" && why.trim() !== "") return why;
  throw new ConfigurationError("Say why, in a sentence: it is what the model, or whoever asked, is told.");
}
