import { ResumeError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { type Decision, decisionOf, type Person, personFacts } from "../../../core/person.ts";
import { timedOutReceipt } from "../../../core/run/wait-answer.ts";
import type { ExchangeEnd, Fence, StopOutcome } from "../../store.ts";
import type { Row } from "../row.ts";
import { get, type SqlScript } from "../script.ts";
import { endExchangeRow, lastExchange, openOf } from "../tables/exchange-rows.ts";
import { granularState, saveTurns } from "../tables/granular-state.ts";
import { assertHere } from "../tables/moved-run.ts";
import { fencedStep, type RunRow, recordEvent, requireRun, saveRun, stepHead } from "../tables/run-row.ts";
import { turnCalls } from "../tables/tool-call-rows.ts";
import { changeRow, type Transaction } from "../transaction.ts";
import { assertOpenPart } from "../verify/verify-open.ts";
import { answerWait } from "./wait-answers.ts";
import { queueIfAnswered } from "./wait-intents.ts";
import { type OpenWait, openWaitsOf } from "./wait-lookup.ts";

export function* endExchange(
  tx: Transaction,
  fence: Fence,
  { stepKey, outcome, why, refused }: ExchangeEnd,
): SqlScript<void> {
  const run = yield* fencedStep(tx, fence, stepKey);
  const { path } = yield* stepHead(run, stepKey);
  const exchange = openOf(yield* lastExchange(run, stepKey));
  if (exchange === null)
    throw new ResumeError(`Step ${path} of run ${run.runId} has no open exchange: load it again.`, {
      irrecoverable: false,
      changes: [],
    });
  const state = yield* granularState(run, stepKey);
  if ((yield* turnCalls(run, stepKey, state.turnIndex + 1)) !== null)
    throw new Error(`Turn ${state.turnIndex + 1} of step ${path} is journaled: commit it first.`);
  if (
    state.lastCall !== null &&
    state.lastCall.turnIndex > state.turnIndex &&
    state.lastCall.reserved !== null
  )
    throw new Error(`A model call of step ${path} is open: settle it first.`);
  endExchangeRow(tx, run, exchange, state.turnIndex, {
    outcome,
    why,
    ...(refused === undefined ? {} : { refused }),
  });
  state.isComplete = true;
  saveTurns(tx, run, state);
  recordEvent(tx, run, "exchange.ended", {
    step: path,
    exchange: exchange.int("exchange_no"),
    outcome,
    why,
    ...(refused === undefined ? {} : { refused }),
  });
}

const OPEN_EXCHANGE =
  "SELECT * FROM exchanges WHERE run_key = ? AND ended_at IS NULL ORDER BY step_no LIMIT 1";

/** The exchange of a run that is open. */
export function openExchangeOf(run: Pick<RunRow, "key">): SqlScript<Row | null> {
  return get(OPEN_EXCHANGE, run.key);
}

export function* requestStop(tx: Transaction, runId: string, person: Person): SqlScript<StopOutcome> {
  const by = decisionOf(person, tx.now);
  const run = yield* requireRun(runId);
  yield* assertHere(run);
  const isEnded = run.status === "succeeded" || run.status === "failed" || run.status === "cancelled";
  const exchange = isEnded ? null : yield* openExchangeOf(run);
  if (exchange === null) return { kind: "nothing" };
  const exchangeNo = exchange.int("exchange_no");
  if (exchange.optionalInt("stop_requested_at") !== null)
    return { kind: "requested", exchange: exchangeNo, again: true };
  yield* assertOpenPart(run);
  const stepNo = exchange.int("step_no");
  const stop = { stop_requested_at: tx.now, stop_requested_by: by.name };
  changeRow(tx, run, "exchanges", { step_no: stepNo, exchange_no: exchangeNo }, stop);
  const refused = run.status === "waiting" ? yield* refuseWaits(tx, run, stepNo, by) : [];
  yield* queueIfAnswered(tx, run);
  saveRun(tx, run, "exchange.stop_requested", {
    exchange: exchangeNo,
    ...personFacts(by),
    ...(refused.length === 0 ? {} : { waits: refused }),
  });
  return { kind: "requested", exchange: exchangeNo, again: false };
}

/** Refuses what the calls of the step wait for. Whether a call in doubt has happened is still for people to say. */
function* refuseWaits(tx: Transaction, run: RunRow, stepNo: number, by: Decision): SqlScript<JsonObject[]> {
  const why = `stopped by ${by.name}`;
  const refused: JsonObject[] = [];
  for (const wait of yield* openWaitsOf(run)) {
    if (wait.call?.stepKey !== stepNo || wait.kind === "in_doubt") continue;
    refused.push({ wait: wait.index, ...(yield* refuse(tx, run, wait, why, by)) });
  }
  return refused;
}

function refuse(
  tx: Transaction,
  run: RunRow,
  wait: OpenWait,
  why: string,
  by: Decision,
): SqlScript<JsonObject> {
  const isPermission = wait.kind === "approval" || wait.kind === "possible_duplicate";
  return isPermission
    ? answerWait(tx, { run, wait }, { answer: { approved: false, why }, by })
    : answerWait(tx, { run, wait }, { answer: { as: "timed_out", why }, by }, timedOutReceipt(why));
}
