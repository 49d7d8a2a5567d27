import { canonicalJson } from "../../../core/canonical-json.ts";
import type { JsonObject } from "../../../core/json.ts";
import { type Decision, decisionJson, readDecision } from "../../../core/person.ts";
import { toolCallId } from "../../../core/step-path.ts";
import { type OnDue, parseWaitId, type WaitAnswer, waitId } from "../../../core/wait.ts";
import type { WaitRange, WaitRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import { WAIT_KINDS, WAIT_STATUSES } from "../stored-words.ts";
import { parseJson, requireRunKey } from "../tables/run-row.ts";

const WAITS = `SELECT waits.*, runs.run_id, run_steps.step_path, tool_calls.turn_index, tool_calls.call_index
    FROM waits JOIN runs USING (run_key)
    LEFT JOIN tool_calls ON tool_calls.run_key = waits.run_key AND tool_calls.call_no = waits.call_no
    LEFT JOIN run_steps ON run_steps.run_key = waits.run_key AND run_steps.step_no = tool_calls.step_no`;

const WAITS_OF_RUN = `${WAITS} WHERE waits.run_key = ? AND wait_index > ? ORDER BY wait_index LIMIT ?`;
const OPEN_WAITS_OF_RUN = `${WAITS}
    WHERE waits.run_key = ? AND wait_index > ? AND waits.status = 'open' ORDER BY wait_index LIMIT ?`;
const OPEN_WAITS = `${WAITS} WHERE waits.status = 'open' AND runs.status <> 'moved' ORDER BY waits.created_at, waits.run_key, wait_index`;

export function* listWaits(
  runId: string,
  { after, limit = Number.MAX_SAFE_INTEGER, open = false }: WaitRange = {},
): SqlScript<WaitRecord[]> {
  const key = yield* requireRunKey(runId);
  const last = after === undefined ? { runId, index: 0 } : parseWaitId(after.waitId);
  if (last?.runId !== runId) return [];
  const rows = yield* all(open ? OPEN_WAITS_OF_RUN : WAITS_OF_RUN, key, last.index, limit);
  return rows.map(waitRecord);
}

export function* listOpenWaits(): SqlScript<WaitRecord[]> {
  const rows = yield* all(OPEN_WAITS);
  return rows.map(waitRecord);
}

function waitRecord(row: Row): WaitRecord {
  const runId = row.text("run_id");
  const status = row.oneOf("status", WAIT_STATUSES);
  const people = peopleOf(row);
  return {
    waitId: waitId(runId, row.int("wait_index")),
    runId,
    kind: row.oneOf("kind", WAIT_KINDS),
    toolCallId:
      row.optionalInt("call_no") === null
        ? null
        : toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")),
    attempt: row.int("attempt"),
    question: row.text("question"),
    subject: parseJson(row.text("subject")) as JsonObject,
    argumentsHash: argumentsHashOf(row),
    status,
    createdAt: row.int("created_at"),
    answeredAt: row.optionalInt("answered_at"),
    answeredBy: status === "answered" ? people.map(({ name }) => name).join(" and ") : null,
    people,
    answer: parseJson(row.optionalText("answer")) as WaitAnswer | null,
    matches: row.optionalText("matches"),
    dueAt: row.optionalInt("due_at"),
    onDue: parseJson(row.optionalText("on_due")) as OnDue | null,
    remindAt: row.optionalInt("remind_at"),
    reminders: row.optionalInt("reminders") ?? 0,
    escalatedAt: row.optionalInt("escalated_at"),
  };
}

export function argumentsHashOf(row: Row): string | null {
  const hash = row.optionalBytes("arguments_hash");
  return hash === null ? null : Buffer.from(hash).toString("hex");
}

/**
 * The people who have decided, as a list. Any other text was written by another program: it is shown as a name, since
 * lists show every wait, and no such wait is acted on.
 */
export function peopleOf(row: Row): readonly Decision[] {
  const text = row.optionalText("answered_by");
  if (text === null) return [];
  return readPeople(text) ?? [{ name: text, at: row.optionalInt("answered_at") ?? 0, authenticated: null }];
}

export function peopleText(people: readonly Decision[]): string {
  return canonicalJson(people.map(decisionJson));
}

function readPeople(text: string): readonly Decision[] | null {
  try {
    const list = parseJson(text);
    const people = Array.isArray(list) ? list.map(readDecision) : [];
    return people.length === 0 || people.includes(null) ? null : people.filter((each) => each !== null);
  } catch {
    return null;
  }
}
