import { parseToolCallId, type StepPath } from "../../../core/step-path.ts";
import type { Database, Row } from "../database.ts";
import type { CoveredKind } from "../run-head.ts";
import {
  CALL,
  CALL_ATTEMPT,
  RUN_LEVEL_KINDS,
  readCoveredRow,
  readCoveredRows,
} from "../tables/event-rows.ts";
import { storedQuotaDigest } from "../tables/run-row.ts";
import { turnNo } from "../tables/turn-number.ts";
import { CHARGES_ROW } from "./event-digests.ts";
import { readCall, readCallAttempt, readFirstRowsOfRun, readTurn } from "./stored-rows.ts";

export type RunKey = { readonly runNo: number; readonly runId: string };

export type OpenRow = {
  readonly digest: string;
  /** Covered since events first had digests, or only since they cover every row. */
  readonly coveredSince: "digests" | "every row";
};

/**
 * The rows that a worker acts on when it claims the run: everything but the committed turns. For each unfinished
 * step: its uncommitted turn, the calls of that turn or of its code, their attempts and receipts. For the run as a
 * whole: its input, its steps with their outputs, its decisions, questions and answers.
 */
export class OpenPart {
  /** Covered recently: after the events that open steps began with, or by the last events of the run. */
  readonly recent = new Map<string, OpenRow>();
  /** Rows of the run as a whole: covered at any time, by the events that `OF_RUN` selects. */
  readonly ofRun = new Map<string, OpenRow>();
  /** The steps with open work: all of it is covered after the event that the step began with. */
  readonly steps = new Set<StepPath>();
  readonly #database: Database;
  readonly #run: RunKey;
  readonly #openTurns = new Set<string>();

  constructor(database: Database, run: RunKey) {
    this.#database = database;
    this.#run = run;
    const { runNo, runId } = run;
    const row = database.get("SELECT * FROM runs WHERE run_no = ?", runNo);
    if (row !== null) this.#take("every row", [[CHARGES_ROW, storedQuotaDigest(row)]]);
    this.#takeCovered("run", runNo);
    this.#take("digests", readFirstRowsOfRun(database, runNo, runId), this.ofRun);
    this.#take("every row", readCoveredRows(database, runNo, runId, RUN_LEVEL_KINDS), this.ofRun);
    for (const step of database.all(OPEN_STEPS, runNo)) this.#takeStep(step);
  }

  /** True if a row that an event covers must be among these. */
  includes(row: string): boolean {
    if (ROW_OF_RUN.test(row)) return true;
    const id = ROW_OF_TURN.exec(row)?.groups?.id;
    if (id === undefined) return false;
    const call = parseToolCallId(id);
    return this.#openTurns.has(call === null ? id : `${call.runId}/${call.path}#${call.turnIndex}`);
  }

  #takeStep(step: Row): void {
    const [stepNo, path] = [step.int("step_no"), step.text("step_path")];
    const [committed, isCurrent] = [step.optionalInt("committed"), step.optionalInt("is_current") === 1];
    if (isCurrent || committed !== null || step.optionalInt("has_calls") === 1) this.steps.add(path);
    if (step.text("status") === "succeeded") return;
    this.#openTurns.add(`${this.#run.runId}/${path}#0`);
    this.#takeCalls(`${CALL} WHERE tool_calls.step_no = ? AND turn_index = 0`, stepNo);
    if (committed === null) return;
    this.#takeCovered("turns", stepNo);
    this.#openTurns.add(`${this.#run.runId}/${path}#${committed + 1}`);
    this.#takeTurn(stepNo, committed + 1);
  }

  #takeTurn(stepNo: number, turnIndex: number): void {
    const turn = this.#database.get(`${TURN} WHERE turn_no = ?`, turnNo(stepNo, turnIndex));
    if (turn === null) return;
    const rows = new Map<string, string>();
    readTurn(turn, this.#run.runId, rows);
    this.#take("digests", rows);
    this.#takeCovered("turn", turnNo(stepNo, turnIndex));
    const first = turn.int("first_call_no");
    this.#takeCalls(`${CALL} WHERE call_no BETWEEN ? AND ?`, first, first + turn.int("calls") - 1);
  }

  #takeCalls(query: string, ...values: readonly number[]): void {
    const { runNo, runId } = this.#run;
    const rows = new Map<string, string>();
    for (const call of this.#database.all(query, ...values)) {
      const callNo = call.int("call_no");
      readCall(this.#database, call, runId, rows);
      this.#takeCovered("call", callNo);
      for (const each of this.#database.all(
        `${CALL_ATTEMPT} WHERE tries.run_no = ? AND call_no = ?`,
        runNo,
        callNo,
      )) {
        readCallAttempt(each, runId, rows);
        if (each.optionalInt("late_at") !== null)
          this.#takeCovered("late", runNo, callNo, each.int("attempt"));
      }
    }
    this.#take("digests", rows);
  }

  #takeCovered(kind: CoveredKind, ...key: readonly number[]): void {
    this.#take("every row", readCoveredRow(this.#database, this.#run.runId, { kind, key }));
  }

  #take(
    coveredSince: OpenRow["coveredSince"],
    rows: Iterable<readonly [string, string]>,
    into: Map<string, OpenRow> = this.recent,
  ): void {
    for (const [row, digest] of rows) into.set(row, { digest, coveredSince });
  }
}

/** The steps that are not finished, and the current one. */
const OPEN_STEPS = `
  SELECT run_steps.step_no, step_path, run_steps.status,
         granular_states.turn_index AS committed, run_steps.step_no = current_step_no AS is_current,
         EXISTS (SELECT 1 FROM tool_calls
                  WHERE tool_calls.step_no = run_steps.step_no AND tool_calls.turn_index = 0) AS has_calls
    FROM runs JOIN run_steps USING (run_no) LEFT JOIN granular_states USING (step_no)
   WHERE run_no = ? AND (run_steps.status NOT IN ('succeeded', 'skipped') OR run_steps.step_no = current_step_no)`;
const TURN = "SELECT step_path, turns.* FROM turns JOIN run_steps USING (step_no)";

/**
 * Selects the events that cover rows of the run as a whole: all but those of its turns, of which there may be many;
 * of these, only the ones that have such rows.
 */
export const OF_RUN = `(type NOT IN ('turn.opened', 'turn.journaled', 'turn.committed', 'calls.prepared', 'calls.started',
    'call.tried', 'call.receipt', 'call.correlated', 'model.settled', 'lease.renewed') OR instr(data, '"ofRun":') > 0)`;

const ROW_OF_RUN =
  /^(run (input|spec|shape|output)$|(artifact|attempt|step|state of step|decision|fingerprint of step|beginning of lineage|doubt about|question|wait) )/;
const ROW_OF_TURN =
  /^(turn|follow-up|charge of turn|call|state of call|receipt|(late outcome of )?try \d+ of) (?<id>.+)$/;
