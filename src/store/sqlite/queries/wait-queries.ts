import { canonicalJson } from "../../../core/canonical-json.ts";
import type { JsonObject } from "../../../core/json.ts";
import { type Decision, decisionJson, readDecision } from "../../../core/person.ts";
import { toolCallId } from "../../../core/step-path.ts";
import { parseWaitId, type WaitAnswer, type WaitKind, waitId } from "../../../core/wait.ts";
import type { WaitRange, WaitRecord } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import { digestOf } from "../tables/digest.ts";
import { parseJson, requireRunNo } from "../tables/run-row.ts";

const WAITS = `SELECT waits.*, run_id, step_path, turn_index, call_index FROM waits JOIN runs USING (run_no)
    LEFT JOIN tool_calls USING (call_no) LEFT JOIN run_steps USING (step_no)`;

export function listWaits(
  database: Database,
  runId: string,
  { after, limit = Number.MAX_SAFE_INTEGER }: WaitRange = {},
): WaitRecord[] {
  const runNo = requireRunNo(database, runId);
  const last = after === undefined ? { runId, index: 0 } : parseWaitId(after.waitId);
  if (last?.runId !== runId) return [];
  return database
    .all(
      `${WAITS} WHERE waits.run_no = ? AND wait_index > ? ORDER BY wait_index LIMIT ?`,
      runNo,
      last.index,
      limit,
    )
    .map(waitRecord);
}

export function listOpenWaits(database: Database): WaitRecord[] {
  return database
    .all(`${WAITS} WHERE waits.status = 'open' ORDER BY waits.created_at, waits.run_no, wait_index`)
    .map(waitRecord);
}

function waitRecord(row: Row): WaitRecord {
  const runId = row.text("run_id");
  return {
    waitId: waitId(runId, row.int("wait_index")),
    runId,
    kind: row.text("kind") as WaitKind,
    toolCallId:
      row.optionalInt("call_no") === null
        ? null
        : toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")),
    attempt: row.int("attempt"),
    question: row.text("question"),
    subject: parseJson(row.text("subject")) as JsonObject,
    argumentsHash: argumentsHashOf(row),
    status: row.text("status") as WaitRecord["status"],
    createdAt: row.int("created_at"),
    answeredAt: row.optionalInt("answered_at"),
    answeredBy: row.text("status") === "answered" ? namesOf(row) : null,
    people: peopleOf(row),
    answer: parseJson(row.optionalText("answer")) as WaitAnswer | null,
  };
}

export function argumentsHashOf(row: Row): string | null {
  const hash = row.optionalBytes("arguments_hash");
  return hash === null ? null : Buffer.from(hash).toString("hex");
}

/** The people who have decided, as a list; an older row has a single name. */
export function peopleOf(row: Row): readonly Decision[] {
  const text = row.optionalText("answered_by");
  if (text === null) return [];
  const known = text.startsWith('[{"') ? readPeople(text) : null;
  return known ?? [{ name: text, at: row.optionalInt("answered_at") ?? 0, authenticated: null }];
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

/** Their names, for display. */
function namesOf(row: Row): string {
  return peopleOf(row)
    .map(({ name }) => name)
    .join(" and ");
}

/** Covers the person, the answer, and the arguments it is about. */
export function storedAnswerDigest(row: Row): string {
  return digestOf(
    row.optionalText("answer"),
    row.optionalText("answered_by"),
    row.optionalBytes("arguments_hash"),
    row.text("kind"),
    row.optionalInt("call_no"),
    row.int("attempt"),
  );
}
