import { assertJson, canonicalJson } from "../../core/canonical-json.ts";
import {
  AlreadySettledError,
  ConfigurationError,
  ToolCallNotFoundError,
  WaitNotFoundError,
} from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import { parseToolCallId, type StepPath } from "../../core/step-path.ts";
import { estimateResultTokens, estimateTokens } from "../../core/token-estimate.ts";
import {
  type NewWait,
  parseWaitId,
  type Settlement,
  type WaitAnswer,
  type WaitKind,
} from "../../core/wait.ts";
import type { NewReceipt, Person } from "../store.ts";
import type { Database, Row } from "./database.ts";
import { findRun, type RunRow, saveRun } from "./run-row.ts";
import {
  callNoAt,
  findCallNo,
  hasReceipt,
  receiptFacts,
  withdrawWaits,
  writeAnyReceipt,
} from "./tool-call-rows.ts";
import { argumentsHashOf, storedAnswerDigest } from "./wait-readers.ts";

/**
 * Opens a wait for each question that is neither open nor answered already and whose call is not settled; there is one
 * open question about a call. Gives their numbers.
 */
export function openWaits(database: Database, run: RunRow, now: number, waits: readonly NewWait[]): number[] {
  return waits.flatMap((wait) => {
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

/** About the same try, a doubt is a doubt, whether or not its tool asked for a person by itself. */
function isSameQuestion(row: Row, { kind, argumentsHash }: NewWait): boolean {
  if (row.text("status") === "withdrawn") return false;
  if (kind === "approval" || row.text("kind") === "approval")
    return row.text("kind") === kind && argumentsHashOf(row) === argumentsHash;
  return true;
}

function insertWait(
  database: Database,
  run: RunRow,
  now: number,
  callNo: number,
  wait: Pick<NewWait, "kind" | "question" | "subject" | "argumentsHash">,
): number {
  const last = database.get("SELECT max(wait_index) AS n FROM waits WHERE run_no = ?", run.runNo);
  const index = (last?.optionalInt("n") ?? 0) + 1;
  database.run(
    `INSERT INTO waits (run_no, wait_index, kind, call_no, attempt, question, subject, arguments_hash, status, created_at)
     SELECT ?, ?, ?, call_no, attempt, ?, ?, ?, 'open', ? FROM tool_calls WHERE call_no = ?`,
    run.runNo,
    index,
    wait.kind,
    wait.question,
    canonicalJson(wait.subject),
    wait.argumentsHash === null ? null : Buffer.from(wait.argumentsHash, "hex"),
    now,
    callNo,
  );
  return index;
}

/** A run whose last question is answered waits for nobody: whoever works may go on with it. */
export function queueIfAnswered(database: Database, run: RunRow): void {
  if (run.status !== "waiting") return;
  const open = database.get(
    "SELECT 1 AS found FROM waits WHERE run_no = ? AND status = 'open' LIMIT 1",
    run.runNo,
  );
  if (open === null) run.status = "queued";
}

export function approve(database: Database, now: number, id: string, person: Person): void {
  const { run, wait } = openWait(database, id, "approval");
  closeWait(database, run, now, wait, { approved: true }, person);
}

export function deny(database: Database, now: number, id: string, why: string, person: Person): void {
  const { run, wait } = openWait(database, id, "approval");
  closeWait(database, run, now, wait, { approved: false, why: assertReason(why) }, person);
}

export function answer(database: Database, now: number, id: string, value: Json, person: Person): void {
  const { run, wait } = openWait(database, id, "escalation");
  assertJson(value, "The answer");
  const said = typeof value === "string" ? value : canonicalJson(value);
  const output = { type: "error-text", value: `It needed a person, who answered: ${said}` } as const;
  const uncertain = mayHaveHappened(database, run, wait);
  closeWait(database, run, now, wait, { as: "answered", value }, person, () =>
    settleCall(database, run, now, wait, { status: "failed", output, errorCode: "answered", uncertain }),
  );
}

/** An answer is no settlement. A tool that asked for a person by itself did so in place of its work. */
function mayHaveHappened(database: Database, run: RunRow, { call }: FoundWait): boolean {
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
  const said = receiptOf(id, settlement);
  const asked = openWaitOf(database, run, call);
  const wait = asked ?? recordWait(database, run, now, call);
  closeWait(database, run, now, wait, settlement, person, () =>
    said === null ? {} : settleCall(database, run, now, wait, said),
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
      assertJson(settlement.result, "The result");
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
type FoundCall = {
  readonly callNo: number;
  readonly step: StepPath;
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndex: number;
};
type FoundWait = { readonly index: number; readonly wasAsked: boolean; readonly call: FoundCall };

/** Written at once, so that a late receipt does not come between what a person said and what is done about it. */
function settleCall(
  database: Database,
  run: RunRow,
  now: number,
  { call }: FoundWait,
  said: SaidReceipt,
): JsonObject {
  const receipt: NewReceipt = {
    ...said,
    callIndex: call.callIndex,
    blob: null, // What people write is as long as people write.
    tokens: estimateResultTokens(JSON.stringify(said.output.value), estimateTokens),
    source: "person",
    correlationId: null,
    duplicateOf: null,
  };
  const digest = writeAnyReceipt(database, run, now, call, receipt);
  return receiptFacts(call.step, call.turnIndex, receipt, digest);
}

function openWait(database: Database, id: string, kind: WaitKind): { run: RunRow; wait: FoundWait } {
  const parsed = parseWaitId(id);
  const run = parsed === null ? null : findRun(database, parsed.runId);
  const row =
    parsed === null || run === null
      ? null
      : database.get("SELECT * FROM waits WHERE run_no = ? AND wait_index = ?", run.runNo, parsed.index);
  if (parsed === null || run === null || row === null)
    throw new WaitNotFoundError(`There is no wait ${id} in this store: list the waits of the run.`, {
      waitId: id,
    });
  const status = row.text("status");
  if (status !== "open")
    throw new AlreadySettledError(
      `Wait ${id} is ${status}${status === "answered" ? ` by ${row.text("answered_by")}` : ""}: it stays as it is.`,
      { id, status },
    );
  if (row.text("kind") !== kind) throw wrongKind(id, row.text("kind") as WaitKind);
  const call = callAt(database, row.int("call_no"));
  return { run, wait: { index: parsed.index, wasAsked: true, call } };
}

const WHAT_ANSWERS = {
  approval: "approve or deny it",
  in_doubt: "settle its call",
  escalation: "answer it, or settle its call",
} as const;

function wrongKind(id: string, kind: WaitKind): ConfigurationError {
  return new ConfigurationError(`Wait ${id} asks for something else (${kind}): ${WHAT_ANSWERS[kind]}.`);
}

function openWaitOf(database: Database, run: RunRow, call: FoundCall): FoundWait | null {
  const open = database.get(
    "SELECT wait_index FROM waits WHERE run_no = ? AND call_no = ? AND status = 'open'",
    run.runNo,
    call.callNo,
  );
  return open === null ? null : { index: open.int("wait_index"), wasAsked: true, call };
}

/** Nobody asked; who settled it, and why, is kept all the same. */
function recordWait(database: Database, run: RunRow, now: number, call: FoundCall): FoundWait {
  const wait = { kind: "in_doubt", question: "", subject: {}, argumentsHash: null } as const;
  return { index: insertWait(database, run, now, call.callNo, wait), wasAsked: false, call };
}

/** The answer, and the receipt that it may be, in this order: a settled call withdraws what is still open about it. */
function closeWait(
  database: Database,
  run: RunRow,
  now: number,
  { index, wasAsked, call }: FoundWait,
  said: WaitAnswer,
  { by = "somebody" }: Person,
  settleIt: () => JsonObject = () => ({}),
): void {
  const text = canonicalJson(said);
  database.run(
    `UPDATE waits SET status = 'answered', answered_at = ?, answered_by = ?, answer = ?
      WHERE run_no = ? AND wait_index = ? AND status = 'open'`,
    now,
    by,
    text,
    run.runNo,
    index,
  );
  const receipt = settleIt();
  // A run that was paused was not asked about this, and goes on when whoever paused it says so.
  if (wasAsked) queueIfAnswered(database, run);
  saveRun(database, run, now, "wait.answered", {
    wait: index,
    by,
    answer: answerDigest(database, run, index),
    step: call.step,
    turn: call.turnIndex,
    call: call.callIndex,
    ...receipt,
  });
}

/** Who said what, and about which arguments. */
function answerDigest(database: Database, run: RunRow, index: number): string {
  const row = database.get("SELECT * FROM waits WHERE run_no = ? AND wait_index = ?", run.runNo, index);
  if (row === null) throw new Error(`Wait ${index} of run ${run.runId} is gone.`);
  return storedAnswerDigest(row);
}

function assertReason(why: unknown): string {
  if (typeof why === "string" && why.trim() !== "") return why;
  throw new ConfigurationError("Say why, in a sentence: it is what the model, or whoever asked, is told.");
}

function runOfCall(database: Database, id: string): RunRow {
  const place = parseToolCallId(id);
  const run = place === null ? null : findRun(database, place.runId);
  if (run === null) throw callNotFound(id);
  return run;
}

function callOf(database: Database, run: RunRow, id: string): FoundCall & { readonly status: string } {
  const place = parseToolCallId(id);
  const step =
    place === null
      ? null
      : database.get(
          "SELECT step_no FROM run_steps WHERE run_no = ? AND step_path = ?",
          run.runNo,
          place.path,
        );
  if (place === null || step === null) throw callNotFound(id);
  const callNo = findCallNo(database, run, { ...place, stepKey: step.int("step_no") });
  const row =
    callNo === null
      ? null
      : database.get(
          `SELECT coalesce(receipts.status, tool_calls.status) AS status
             FROM tool_calls LEFT JOIN receipts USING (call_no) WHERE call_no = ?`,
          callNo,
        );
  if (callNo === null || row === null) throw callNotFound(id);
  return { ...callAt(database, callNo), status: row.text("status") };
}

function callAt(database: Database, callNo: number): FoundCall {
  const row = database.get(
    "SELECT step_no, step_path, turn_index, call_index FROM tool_calls JOIN run_steps USING (step_no) WHERE call_no = ?",
    callNo,
  );
  if (row === null) throw new Error(`There is no call ${callNo}.`);
  return {
    callNo,
    step: row.text("step_path"),
    stepKey: row.int("step_no"),
    turnIndex: row.int("turn_index"),
    callIndex: row.int("call_index"),
  };
}

function callNotFound(id: string): ToolCallNotFoundError {
  return new ToolCallNotFoundError(`There is no tool call ${id} in this store: list the calls of the run.`, {
    toolCallId: id,
  });
}
