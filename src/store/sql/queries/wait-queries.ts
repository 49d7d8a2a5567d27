import { canonicalJson } from "../../../core/canonical-json.ts";
import type { JsonObject } from "../../../core/json.ts";
import { type Decision, decisionJson, readDecision } from "../../../core/person.ts";
import { toolCallId } from "../../../core/step-path.ts";
import { asksPeople, type OnDue, parseWaitId, type WaitAnswer, waitId } from "../../../core/wait.ts";
import type { AnsweredWaitRange, OpenWaitRange, WaitRange, WaitRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import { WAIT_KINDS, WAIT_STATUSES } from "../stored-words.ts";
import { parseJson, requireRunKey } from "../tables/run-row.ts";
import { ASKS_PEOPLE } from "./needed-people.ts";
import { inScope } from "./run-scope.ts";
import { allOf, oneOf, type SqlCondition } from "./sql-condition.ts";

// A cross join is made in this order: a list of waits is in the order of their index.
const WAITS = `SELECT waits.*, runs.run_id, run_steps.step_path, tool_calls.turn_index, tool_calls.call_index
    FROM waits CROSS JOIN runs
    LEFT JOIN tool_calls ON tool_calls.run_key = waits.run_key AND tool_calls.call_no = waits.call_no
    LEFT JOIN run_steps ON run_steps.run_key = waits.run_key AND run_steps.step_no = tool_calls.step_no`;

const WAITS_OF_RUN = `${WAITS} WHERE runs.run_key = waits.run_key AND waits.run_key = ? AND wait_index > ? ORDER BY wait_index LIMIT ?`;
const OPEN_WAITS_OF_RUN = `${WAITS}
    WHERE runs.run_key = waits.run_key AND waits.run_key = ? AND wait_index > ? AND waits.status = 'open' ORDER BY wait_index LIMIT ?`;

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

/** The open waits of runs that live here, oldest first. */
export function* listOpenWaits({
  after,
  limit = Number.MAX_SAFE_INTEGER,
  kinds,
  runId,
  ...scope
}: OpenWaitRange = {}): SqlScript<WaitRecord[]> {
  const behind = after === undefined ? [] : yield* behindWait(after);
  if (behind === null) return [];
  const { text, values } = allOf([
    plain(kinds?.every(asksPeople) === true ? ASKS_PEOPLE : "waits.status = 'open'"),
    plain("runs.run_key = waits.run_key AND runs.status <> 'moved'"),
    ...(kinds === undefined ? [] : [oneOf("waits.kind", kinds)]),
    ...(runId === undefined ? [] : [{ text: OF_RUN, values: [runId] }]),
    ...behind,
    ...inScope(scope),
  ]);
  const order = "ORDER BY waits.created_at, waits.run_key, waits.wait_index LIMIT ?";
  const rows = yield* all(`${WAITS} WHERE ${text} ${order}`, ...values, limit);
  return rows.map(waitRecord);
}

const OF_RUN = "waits.run_key = (SELECT of_id.run_key FROM runs AS of_id WHERE of_id.run_id = ?)";

/** Null if the cursor names no wait. Behind one whose run was deleted, waits of the same time may be listed again. */
function* behindWait({
  waitId: id,
  createdAt,
}: Pick<WaitRecord, "waitId" | "createdAt">): SqlScript<SqlCondition[] | null> {
  const last = parseWaitId(id);
  if (last === null) return null;
  const since = { text: "waits.created_at >= ?", values: [createdAt] };
  const run = yield* get("SELECT run_key FROM runs WHERE run_id = ?", last.runId);
  if (run === null) return [since];
  const text = "(waits.created_at, waits.run_key, waits.wait_index) > (?, ?, ?)";
  return [since, { text, values: [createdAt, run.value("run_key"), last.index] }];
}

/** As it is in the index of these waits. */
const ANSWERED_BY_PEOPLE = "waits.status = 'answered' AND waits.kind <> 'time' AND waits.kind <> 'message'";

/** What people have answered, newest first. */
export function* listAnsweredWaits({
  since,
  after,
  limit,
  kinds,
  runId,
  ...scope
}: AnsweredWaitRange): SqlScript<WaitRecord[]> {
  const behind = after === undefined ? [] : behindAnswer(after);
  if (behind === null) return [];
  const { text, values } = allOf([
    plain(`${ANSWERED_BY_PEOPLE} AND runs.run_key = waits.run_key`),
    { text: "waits.answered_at >= ?", values: [since] },
    ...(kinds === undefined ? [] : [oneOf("waits.kind", kinds)]),
    ...(runId === undefined ? [] : [{ text: OF_RUN, values: [runId] }]),
    ...behind,
    ...inScope(scope),
  ]);
  const order = "ORDER BY waits.answered_at DESC, runs.run_id DESC, waits.wait_index DESC LIMIT ?";
  const rows = yield* all(`${WAITS} WHERE ${text} ${order}`, ...values, limit);
  return rows.map(waitRecord);
}

/** Null if the cursor names no wait. */
function behindAnswer({
  waitId: id,
  answeredAt,
}: NonNullable<AnsweredWaitRange["after"]>): SqlCondition[] | null {
  const last = parseWaitId(id);
  if (last === null) return null;
  // The first condition is in the index; the row is compared among the answers of the same time.
  const text = "(waits.answered_at, runs.run_id, waits.wait_index) < (?, ?, ?)";
  return [
    { text: "waits.answered_at <= ?", values: [answeredAt] },
    { text, values: [answeredAt, last.runId, last.index] },
  ];
}

function plain(text: string): SqlCondition {
  return { text, values: [] };
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
