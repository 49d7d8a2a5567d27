import { assertPayload, canonicalJson } from "../../../core/canonical-json.ts";
import { AlreadySettledError, ConfigurationError } from "../../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { ToolOutput } from "../../../core/message.ts";
import {
  approvalNeedOf,
  decideApproval,
  decisionOf,
  type Person,
  personFacts,
} from "../../../core/person.ts";
import { estimateResultTokens, estimateTokens } from "../../../core/usage/token-estimate.ts";
import { type Settlement, type WaitAnswer } from "../../../core/wait.ts";
import type { NewReceipt } from "../../store.ts";
import type { Database } from "../database.ts";
import { namesOf, peopleText } from "../queries/wait-queries.ts";
import { coverRow } from "../tables/event-rows.ts";
import { raiseBudget } from "../tables/run-budgets.ts";
import { type RunRow, saveRun, startedBy } from "../tables/run-row.ts";
import { receiptFacts, writeAnyReceipt } from "../tables/tool-call-rows.ts";
import { answerDigest, insertWait, queueIfAnswered } from "./wait-intents.ts";
import {
  type AnswerableWait,
  aboutDoubt,
  type CallLocation,
  callOf,
  openWait,
  openWaitOf,
  runOfCall,
} from "./wait-lookup.ts";

/** Lets a call run; or, where that takes more people, keeps that this one has and leaves the question open. */
export function approve(database: Database, now: number, id: string, person: Person): void {
  const { run, wait } = openWait(database, id, "approval");
  const need = approvalNeedOf(wait.subject);
  const starter = need.notStarter ? startedBy(database, run.runId) : null;
  const decision = decisionOf(person, now);
  const verdict = decideApproval(need, starter, wait.people, decision);
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

function callFacts({ call }: AnswerableWait): JsonObject {
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
function mayHaveHappened(database: Database, run: RunRow, { call }: AnswerableWait): boolean {
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
function assertUnanswered(database: Database, run: RunRow, call: CallLocation, id: string): void {
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
  call: CallLocation,
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
function recordWait(database: Database, run: RunRow, now: number, call: CallLocation): AnswerableWait {
  const wait = { kind: "in_doubt", question: "", subject: {}, argumentsHash: null } as const;
  return aboutDoubt(insertWait(database, run, now, call.callNo, wait), false, call);
}

/** The answer, and the receipt that it may be, in this order: a settled call withdraws what is still open about it. */
function closeWait(
  database: Database,
  run: RunRow,
  now: number,
  wait: AnswerableWait,
  said: WaitAnswer,
  person: Person,
  settleIt: (call: CallLocation) => JsonObject = () => ({}),
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
  coverRow(run, "question", run.runNo, index);
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

function assertReason(why: unknown): string {
  if (typeof why === "string" && why.trim() !== "") return why;
  throw new ConfigurationError("Say why, in a sentence: it is what the model, or whoever asked, is told.");
}
