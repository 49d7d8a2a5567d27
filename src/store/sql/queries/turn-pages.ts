import type { StoredResponse, TakenMessage, ToolCallRecord, TurnRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { CALLS, toolCallRecord, withRequest } from "./call-records.ts";
import { TAKEN_COUNT, takenMessages } from "./exchange-queries.ts";

// Turns with their calls, a page at a time: one query for the turns and one for their calls and receipts.
// A page is found by its position, so its cost depends on its size and not on what comes before it.

/** The run that is read, by its key and by its id. */
export type ReadRun = { readonly key: RunKey; readonly runId: string };

/** The position of a turn in its run: steps are in the order in which they were entered. */
export type TurnPlace = { readonly stepNo: number; readonly turnIndex: number };

/** A turn that was read, with its position. */
export type PlacedTurn = TurnPlace & { readonly turn: TurnRecord };

/** A turn that was open when a new lineage began was never committed. */
const COMMITTED = `turns.turn_index <= (SELECT g.turn_index FROM granular_states AS g
                          WHERE g.run_key = turns.run_key AND g.step_no = turns.step_no)
  AND NOT EXISTS (SELECT 1 FROM lineages AS l
                   WHERE l.run_key = turns.run_key AND l.step_no = turns.step_no AND l.open_turn = turns.turn_index)`;

const TURNS = `SELECT step_no, turn_index, settled_at, tokens, first_call_no, calls, response, follow_up,
    ${COMMITTED} AS committed, ${TAKEN_COUNT} AS taken,
    (SELECT step_path FROM run_steps
      WHERE run_steps.run_key = turns.run_key AND run_steps.step_no = turns.step_no) AS step_path
  FROM turns`;

const IN_ORDER = "ORDER BY step_no, turn_index LIMIT ?";
const TURNS_AFTER = `${TURNS} WHERE run_key = ? AND (step_no, turn_index) > (?, ?) ${IN_ORDER}`;
const CALLING_TURNS_AFTER = `${TURNS} WHERE run_key = ? AND (step_no, turn_index) > (?, ?) AND calls > 0 ${IN_ORDER}`;
const NEWEST_TURNS = `${TURNS} WHERE run_key = ? AND step_no = ? AND turn_index BETWEEN ? AND ?
  ORDER BY turn_index DESC LIMIT ?`;

const CALLS_IN_RANGE = `${CALLS} WHERE run_key = ? AND call_no BETWEEN ? AND ? ORDER BY call_no`;

/** The turns of a run after a given one, in order, of all its steps. */
export function* turnsAfter(run: ReadRun, after: TurnPlace, limit: number): SqlScript<PlacedTurn[]> {
  return yield* withCalls(run, yield* all(TURNS_AFTER, run.key, after.stepNo, after.turnIndex, limit));
}

/** The same, of the turns that have calls. */
export function* callingTurnsAfter(run: ReadRun, after: TurnPlace, limit: number): SqlScript<PlacedTurn[]> {
  return yield* withCalls(
    run,
    yield* all(CALLING_TURNS_AFTER, run.key, after.stepNo, after.turnIndex, limit),
  );
}

/** The newest turns of a step, from a first to a last one, newest first. */
export function* newestTurns(
  run: ReadRun,
  { stepNo, first, last }: { readonly stepNo: number; readonly first: number; readonly last: number },
  limit: number,
): SqlScript<TurnRecord[]> {
  const turns = yield* withCalls(run, yield* all(NEWEST_TURNS, run.key, stepNo, first, last, limit));
  return turns.map(({ turn }) => turn);
}

function* withCalls(run: ReadRun, rows: readonly Row[]): SqlScript<PlacedTurn[]> {
  const calls = yield* callsOf(run, rows);
  const taken = yield* takenBy(run, rows);
  return rows.map((row) => {
    const name = placeName(row);
    return { ...placeOf(row), turn: turnRecord(row, calls.get(name) ?? [], taken.get(name) ?? []) };
  });
}

/** The messages that these turns have taken, by the names of their places. */
function* takenBy(
  { key }: ReadRun,
  turns: readonly Row[],
): SqlScript<ReadonlyMap<string, readonly TakenMessage[]>> {
  const found = new Map<string, readonly TakenMessage[]>();
  const taking = turns.filter((turn) => turn.int("taken") > 0);
  for (const [stepNo, ofStep] of Map.groupBy(taking, (turn) => turn.int("step_no"))) {
    const indexes = ofStep.map((turn) => turn.int("turn_index"));
    const messages = yield* takenMessages(key, stepNo, Math.min(...indexes), Math.max(...indexes));
    for (const [turn, each] of messages) found.set(`${stepNo}.${turn}`, each);
  }
  return found;
}

/** The calls of these turns, by the names of their places. */
function* callsOf(run: ReadRun, turns: readonly Row[]): SqlScript<ReadonlyMap<string, ToolCallRecord[]>> {
  const calls = new Map(turns.map((turn): [string, ToolCallRecord[]] => [placeName(turn), []]));
  for (const { first, last } of callRanges(turns))
    for (const row of yield* all(CALLS_IN_RANGE, run.key, first, last))
      calls.get(placeName(row))?.push(toolCallRecord(run.runId, row));
  return calls;
}

/** Ranges that are this close to each other are read as one, with what other steps called in between. */
const MAX_GAP = 64;

/**
 * The numbers of the calls of these turns. Those of a turn are consecutive, and so are most of its page: then it is one
 * range. Joined by its range to each turn instead, PostgreSQL reads all calls of the run.
 */
export function callRanges(
  turns: readonly Row[],
): readonly { readonly first: number; readonly last: number }[] {
  const ranges: { first: number; last: number }[] = [];
  const calling = turns.filter((turn) => turn.int("calls") > 0);
  for (const turn of calling.sort((a, b) => a.int("first_call_no") - b.int("first_call_no"))) {
    const first = turn.int("first_call_no");
    const last = first + turn.int("calls") - 1;
    const range = ranges.at(-1);
    if (range !== undefined && first - range.last <= MAX_GAP) range.last = last;
    else ranges.push({ first, last });
  }
  return ranges;
}

function placeOf(row: Row): TurnPlace {
  return { stepNo: row.int("step_no"), turnIndex: row.int("turn_index") };
}

function placeName(row: Row): string {
  return `${row.int("step_no")}.${row.int("turn_index")}`;
}

function turnRecord(row: Row, calls: readonly ToolCallRecord[], taken: readonly TakenMessage[]): TurnRecord {
  const response = JSON.parse(row.text("response")) as StoredResponse;
  return {
    stepPath: row.text("step_path"),
    turnIndex: row.int("turn_index"),
    response,
    tokens: row.int("tokens"),
    followUp: row.optionalText("follow_up"),
    calls: calls.map((call) => withRequest(call, response)),
    taken,
    committed: row.flag("committed"),
    at: row.int("settled_at"),
  };
}
