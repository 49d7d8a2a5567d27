import {
  AlreadySettledError,
  ConfigurationError,
  ToolCallNotFoundError,
  WaitNotFoundError,
} from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Decision } from "../../../core/person.ts";
import { decideWaitAnswer } from "../../../core/run/wait-answer.ts";
import { parseToolCallId, type StepPath } from "../../../core/step-path.ts";
import { type OnDue, parseWaitId, type WaitKind } from "../../../core/wait.ts";
import { peopleOf } from "../queries/wait-queries.ts";
import { all, get, type SqlScript } from "../script.ts";
import { WAIT_KINDS, WAIT_STATUSES } from "../stored-words.ts";
import { assertNotDeleted } from "../tables/missing-run.ts";
import { assertHere } from "../tables/moved-run.ts";
import { findRun, parseJson, type RunRow } from "../tables/run-row.ts";
import { findCallNo } from "../tables/tool-call-rows.ts";
import { assertOpenPart } from "../verify/verify-open.ts";

// Finds what people answer: a wait by its id, a call by its own.

export type CallLocation = {
  readonly callNo: number;
  readonly step: StepPath;
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndex: number;
};
export type AnswerableWait = {
  readonly index: number;
  /** False if a person settled the call without being asked. */
  readonly wasAsked: boolean;
  readonly kind: WaitKind;
  readonly subject: JsonObject;
  /** The people who have approved it so far. */
  readonly people: readonly Decision[];
  /** Null if it is about the run. */
  readonly call: CallLocation | null;
};

/** The wait, if it is open and of one of these kinds. */
export function* requireOpenWait(
  id: string,
  ...kinds: readonly WaitKind[]
): SqlScript<{ run: RunRow; wait: AnswerableWait }> {
  const parsed = parseWaitId(id);
  const run = parsed === null ? null : yield* findRun(parsed.runId);
  const row =
    parsed === null || run === null
      ? null
      : yield* get("SELECT * FROM waits WHERE run_key = ? AND wait_index = ?", run.key, parsed.index);
  if (parsed !== null && run === null) yield* assertNotDeleted(parsed.runId);
  if (parsed === null || run === null || row === null)
    throw new WaitNotFoundError(`There is no wait ${id} in this store: list the waits of the run.`, {
      waitId: id,
    });
  yield* assertHere(run);
  // An answer counts only if the question that the person was shown is the one that was asked.
  yield* assertOpenPart(run);
  const [kind, status] = [row.oneOf("kind", WAIT_KINDS), row.oneOf("status", WAIT_STATUSES)];
  const people = peopleOf(row);
  const decision = decideWaitAnswer({ id, kind, status, people }, kinds);
  if (decision.kind === "settled") throw new AlreadySettledError(decision.why, { id, status });
  if (decision.kind === "refused") throw new ConfigurationError(decision.why);
  const callNo = row.optionalInt("call_no");
  const call = callNo === null ? null : (yield* locateCall(run, callNo)).call;
  const subject = parseJson(row.text("subject")) as JsonObject;
  return { run, wait: { index: parsed.index, wasAsked: true, kind, subject, people, call } };
}

/** An open wait, with what the clock and the mailbox need. */
export type OpenWait = AnswerableWait & {
  readonly matches: string | null;
  readonly dueAt: number | null;
  readonly onDue: OnDue | null;
  readonly remindAt: number | null;
  readonly remindEveryMs: number | null;
  readonly reminders: number;
  readonly escalatedAt: number | null;
};

/** The open waits of a run, in order. */
export function* openWaitsOf(run: RunRow): SqlScript<OpenWait[]> {
  const rows = yield* all(
    "SELECT * FROM waits WHERE run_key = ? AND status = 'open' ORDER BY wait_index",
    run.key,
  );
  const waits: OpenWait[] = [];
  for (const row of rows) {
    const callNo = row.optionalInt("call_no");
    waits.push({
      index: row.int("wait_index"),
      wasAsked: true,
      kind: row.oneOf("kind", WAIT_KINDS),
      subject: parseJson(row.text("subject")) as JsonObject,
      people: peopleOf(row),
      call: callNo === null ? null : (yield* locateCall(run, callNo)).call,
      matches: row.optionalText("matches"),
      dueAt: row.optionalInt("due_at"),
      onDue: parseJson(row.optionalText("on_due")) as OnDue | null,
      remindAt: row.optionalInt("remind_at"),
      remindEveryMs: row.optionalInt("remind_every_ms"),
      reminders: row.optionalInt("reminders") ?? 0,
      escalatedAt: row.optionalInt("escalated_at"),
    });
  }
  return waits;
}

export function* findOpenWaitAbout(run: RunRow, call: CallLocation): SqlScript<AnswerableWait | null> {
  const open = yield* get(
    "SELECT wait_index FROM waits WHERE run_key = ? AND call_no = ? AND status = 'open'",
    run.key,
    call.callNo,
  );
  return open === null ? null : doubtWait({ index: open.int("wait_index"), wasAsked: true, call });
}

export function* requireRunOfCall(id: string): SqlScript<RunRow> {
  const place = parseToolCallId(id);
  const run = place === null ? null : yield* findRun(place.runId);
  if (place !== null && run === null) yield* assertNotDeleted(place.runId);
  if (run === null) throw callNotFound(id);
  yield* assertHere(run);
  yield* assertOpenPart(run);
  return run;
}

/** The call with its status: that of its receipt, if it has one. */
export function* requireCall(
  run: RunRow,
  id: string,
): SqlScript<{ readonly call: CallLocation; readonly status: string }> {
  const place = parseToolCallId(id);
  const step =
    place === null
      ? null
      : yield* get("SELECT step_no FROM run_steps WHERE run_key = ? AND step_path = ?", run.key, place.path);
  if (place === null || step === null) throw callNotFound(id);
  const callNo = yield* findCallNo(run, { ...place, stepKey: step.int("step_no") });
  if (callNo === null) throw callNotFound(id);
  return yield* locateCall(run, callNo);
}

const CALL = `SELECT step_no, step_path, turn_index, call_index,
         coalesce(receipts.status, tool_calls.status) AS call_status
    FROM tool_calls JOIN run_steps USING (run_key, step_no) LEFT JOIN receipts USING (run_key, call_no)
   WHERE run_key = ? AND call_no = ?`;

function* locateCall(
  run: RunRow,
  callNo: number,
): SqlScript<{ readonly call: CallLocation; readonly status: string }> {
  const row = yield* get(CALL, run.key, callNo);
  if (row === null) throw new Error(`There is no call ${callNo}.`);
  const call = {
    callNo,
    step: row.text("step_path"),
    stepKey: row.int("step_no"),
    turnIndex: row.int("turn_index"),
    callIndex: row.int("call_index"),
  };
  return { call, status: row.text("call_status") };
}

function callNotFound(id: string): ToolCallNotFoundError {
  return new ToolCallNotFoundError(`There is no tool call ${id} in this store: list the calls of the run.`, {
    toolCallId: id,
  });
}

/** A wait about a call in doubt, whether or not the run asked. */
export function doubtWait(
  wait: Pick<AnswerableWait, "index" | "wasAsked"> & { readonly call: CallLocation },
): AnswerableWait {
  return { ...wait, kind: "in_doubt", subject: {}, people: [] };
}
