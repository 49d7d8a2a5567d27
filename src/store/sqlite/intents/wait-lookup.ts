import {
  AlreadySettledError,
  ConfigurationError,
  ToolCallNotFoundError,
  WaitNotFoundError,
} from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { type Decision, namesInWords } from "../../../core/person.ts";
import { parseToolCallId, type StepPath } from "../../../core/step-path.ts";
import { parseWaitId, type WaitKind } from "../../../core/wait.ts";
import type { Database } from "../database.ts";
import { peopleOf } from "../queries/wait-queries.ts";
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

export function requireOpenWait(
  database: Database,
  id: string,
  ...kinds: readonly WaitKind[]
): { run: RunRow; wait: AnswerableWait } {
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
  // An answer counts only if the question that the person was shown is the one that was asked.
  assertOpenPart(database, run);
  const status = row.text("status");
  if (status !== "open")
    throw new AlreadySettledError(
      status === "answered"
        ? `Wait ${id} was already answered by ${namesInWords(peopleOf(row))}: the answer stays as it is.`
        : `Wait ${id} is ${status}: it stays as it is.`,
      { id, status },
    );
  const kind = row.text("kind") as WaitKind;
  if (!kinds.includes(kind)) throw wrongKind(id, kind);
  const callNo = row.optionalInt("call_no");
  const call = callNo === null ? null : callAt(database, callNo);
  const subject = parseJson(row.text("subject")) as JsonObject;
  return { run, wait: { index: parsed.index, wasAsked: true, kind, subject, people: peopleOf(row), call } };
}

const ABOUT = {
  approval: "the approval of a call",
  possible_duplicate: "a call whose effect may have happened before",
  in_doubt: "a call in doubt",
  escalation: "a call that needs a person",
  question: "a question",
  budget: "a budget that is used up",
} as const satisfies { readonly [K in WaitKind]: string };

const HOW_TO_ANSWER = {
  approval: "approve or deny it",
  possible_duplicate: "approve or deny it",
  in_doubt: "settle its call",
  escalation: "answer it, or settle its call",
  question: "answer it",
  budget: "answer it with the new limit, or deny it",
} as const;

function wrongKind(id: string, kind: WaitKind): ConfigurationError {
  return new ConfigurationError(`Wait ${id} is about ${ABOUT[kind]}: ${HOW_TO_ANSWER[kind]}.`);
}

export function findOpenWaitAbout(
  database: Database,
  run: RunRow,
  call: CallLocation,
): AnswerableWait | null {
  const open = database.get(
    "SELECT wait_index FROM waits WHERE run_no = ? AND call_no = ? AND status = 'open'",
    run.runNo,
    call.callNo,
  );
  return open === null ? null : doubtWait({ index: open.int("wait_index"), wasAsked: true, call });
}

export function requireRunOfCall(database: Database, id: string): RunRow {
  const place = parseToolCallId(id);
  const run = place === null ? null : findRun(database, place.runId);
  if (run === null) throw callNotFound(id);
  assertOpenPart(database, run);
  return run;
}

export function requireCall(
  database: Database,
  run: RunRow,
  id: string,
): CallLocation & { readonly status: string } {
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

function callAt(database: Database, callNo: number): CallLocation {
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

/** A wait about a call in doubt, whether or not the run asked. */
export function doubtWait(
  wait: Pick<AnswerableWait, "index" | "wasAsked"> & { readonly call: CallLocation },
): AnswerableWait {
  return { ...wait, kind: "in_doubt", subject: {}, people: [] };
}
