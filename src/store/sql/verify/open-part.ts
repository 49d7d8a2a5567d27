import type { StepPath } from "../../../core/step-path.ts";
import { coversRun, isOfRun } from "../covered-rows.ts";
import { PagedQuery } from "../paged-query.ts";
import type { Row } from "../row.ts";
import { get, type SqlScript, type SqlValue } from "../script.ts";
import type { CoveredTable, RunKey } from "../table-list.ts";
import { CODE_STEP_TURN } from "../tables/tool-call-rows.ts";
import { partsOf } from "./row-names.ts";
import { COVERED_TABLES, columnsOf, rowsOfRun, storedGroups } from "./stored-rows.ts";

/**
 * The rows that a worker acts on when it claims the run: everything but the committed turns. For each unfinished
 * step: its uncommitted turn, the calls of that turn or of its code, their attempts and receipts. For the run as a
 * whole: its input, its steps with their outputs, its decisions, questions and answers.
 */
export class OpenPart {
  /** The names of the rows, with their digests as they are stored. */
  readonly rows = new Map<string, string>();
  /** Those that recent events cover: all were written after the beginning of their step, or its last commit. */
  readonly recent = new Set<string>();
  /** The steps with open work. */
  readonly steps = new Set<StepPath>();
  readonly #stepNos = new Set<string>();
  readonly #turns = new Set<string>();
  readonly #calls: { readonly first: number; last: number }[] = [];

  take(table: CoveredTable, row: Row): void {
    for (const [name, digest] of storedGroups(table, row)) {
      this.rows.set(name, digest);
      if (!isWrittenWithRun(name)) this.recent.add(name);
    }
  }

  openStep(stepNo: number): void {
    this.#stepNos.add(String(stepNo));
  }

  /** The turn after the last commit of a step, whether it has a response yet or not. */
  openTurn(stepNo: number, turnIndex: number): void {
    this.#turns.add(`${stepNo}.${turnIndex}`);
  }

  openCalls(first: number, last: number): void {
    const before = this.#calls.at(-1);
    if (before?.last === first - 1) before.last = last;
    else this.#calls.push({ first, last });
  }

  /** True if a row that an event covers must be among these. */
  includes(name: string): boolean {
    if (coversRun([name])) return true;
    const parts = partsOf(name);
    if (parts === null) return false;
    const { table, key } = parts;
    if (table === "granular_states") return this.#stepNos.has(`${key.step_no}`);
    if (table === "turns") return this.#turns.has(`${key.step_no}.${key.turn_index}`);
    const isOfCall = table === "tool_calls" || table === "receipts" || table === "tool_call_attempts";
    return isOfCall && this.#hasCall(Number(key.call_no));
  }

  #hasCall(callNo: number): boolean {
    return this.#calls.some(({ first, last }) => callNo >= first && callNo <= last);
  }
}

/**
 * True for rows whose events are marked, however old they are. The lineage of a step is written only together with a
 * row of the run as a whole: its step, its lineage or its fingerprint.
 */
function isWrittenWithRun(name: string): boolean {
  return coversRun([name]) || /^granular_states \d+:lineage$/.test(name);
}

/** Reads the open part of a run. */
export function* readOpenPart(key: RunKey, currentStepNo: number | null): SqlScript<OpenPart> {
  const open = new OpenPart();
  const unfinished = new Map<number, StepPath>();
  for (const table of COVERED_TABLES.filter(isOfRun)) {
    const query = rowsOfRun(table);
    for (let page = yield* query.first(key); page.length > 0; page = yield* query.after(page, key))
      for (const row of page) {
        open.take(table, row);
        if (table !== "run_steps") continue;
        const [stepNo, path] = [row.int("step_no"), row.text("step_path")];
        if (stepNo === currentStepNo) open.steps.add(path);
        if (!FINISHED.has(row.text("status"))) unfinished.set(stepNo, path);
      }
  }
  for (const [stepNo, path] of unfinished) if (yield* readStep(key, stepNo, open)) open.steps.add(path);
  return open;
}

const FINISHED: ReadonlySet<string> = new Set(["succeeded", "skipped"]);

/** Reads the open part of an unfinished step; false if it has none, as a step that only contains others. */
function* readStep(key: RunKey, stepNo: number, open: OpenPart): SqlScript<boolean> {
  open.openStep(stepNo);
  const codeCalls = yield* readCalls(open, CODE_CALLS, key, stepNo);
  for (const callNo of codeCalls) open.openCalls(callNo, callNo);
  const state = yield* get(STATE, key, stepNo);
  if (state === null) return codeCalls.length > 0;
  open.take("granular_states", state);
  yield* readTurn(key, stepNo, state.int("turn_index") + 1, open);
  return true;
}

function* readTurn(key: RunKey, stepNo: number, turnIndex: number, open: OpenPart): SqlScript<void> {
  open.openTurn(stepNo, turnIndex);
  const turn = yield* get(TURN, key, stepNo, turnIndex);
  if (turn === null) return;
  open.take("turns", turn);
  const first = turn.int("first_call_no");
  const last = first + turn.int("calls") - 1;
  open.openCalls(first, last);
  yield* readCalls(open, TURN_CALLS, key, first, last);
}

/** Reads calls with their receipts and attempts. Returns the numbers of the calls. */
function* readCalls(
  open: OpenPart,
  queries: CallQueries,
  ...values: readonly SqlValue[]
): SqlScript<number[]> {
  const callNos: number[] = [];
  for (const [table, query] of queries)
    for (
      let page = yield* query.first(...values);
      page.length > 0;
      page = yield* query.after(page, ...values)
    )
      for (const row of page) {
        open.take(table, row);
        if (table === "tool_calls") callNos.push(row.int("call_no"));
      }
  return callNos;
}

const STATE = `SELECT ${columnsOf("granular_states").join(", ")} FROM granular_states
   WHERE run_key = ? AND step_no = ?`;
const TURN = `SELECT ${columnsOf("turns").join(", ")} FROM turns
   WHERE run_key = ? AND step_no = ? AND turn_index = ?`;

type CallQueries = ReadonlyMap<CoveredTable, PagedQuery>;

/** The queries for some calls, for their receipts and for their attempts. */
function callQueries(condition: string, order: "call_no" | "call_index"): CallQueries {
  const query = (table: CoveredTable, ...more: readonly string[]) => {
    const columns = columnsOf(table).map((column) => `own.${column}`);
    if (!columns.includes(`own.${order}`)) columns.push(`calls.${order}`);
    return new PagedQuery(
      `SELECT ${columns.join(", ")} FROM tool_calls AS calls JOIN ${table} AS own USING (run_key, call_no)
        WHERE run_key = ? AND ${condition}`,
      [`calls.${order}`, ...more],
      100,
    );
  };
  return new Map([
    ["tool_calls", query("tool_calls")],
    ["receipts", query("receipts")],
    ["tool_call_attempts", query("tool_call_attempts", "own.attempt")],
  ]);
}

const CODE_CALLS = callQueries(`calls.step_no = ? AND calls.turn_index = ${CODE_STEP_TURN}`, "call_index");
const TURN_CALLS = callQueries("calls.call_no >= ? AND calls.call_no <= ?", "call_no");
