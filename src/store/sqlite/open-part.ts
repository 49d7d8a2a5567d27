import { parseToolCallId, type StepPath } from "../../core/step-path.ts";
import type { Database, Row } from "./database.ts";
import { CHARGES_ROW, waitRow } from "./event-tellings.ts";
import type { ToldKind } from "./run-head.ts";
import { storedQuotaDigest } from "./run-row.ts";
import { readCall, readTry, readTurn, stepOutputRow } from "./stored-rows.ts";
import { readToldRow } from "./told-rows.ts";
import { turnNo } from "./turn-number.ts";
import { storedAnswerDigest } from "./wait-readers.ts";

export type FoundRun = { readonly runNo: number; readonly runId: string };

export type OpenRow = {
  readonly digest: string;
  /** Whether events tell of it since they carry digests at all, or since they tell of every row. */
  readonly toldSince: "digests" | "every row";
  /** It is over, and may have been told of long ago: it is compared only where that is met. */
  readonly isOver: boolean;
};

/**
 * What a worker acts on when it takes the run: the run's own row, for each step that is not finished the turn that is not
 * committed, the calls of that turn or of its code, their tries and receipts; and the questions with their answers.
 */
export class OpenPart {
  readonly rows = new Map<string, OpenRow>();
  /** The steps whose work is open: all of it was told after the event that it began with. */
  readonly steps = new Set<StepPath>();
  readonly #database: Database;
  readonly #run: FoundRun;
  readonly #openCalls = new Set<number>();
  readonly #openTurns = new Set<string>();

  constructor(database: Database, run: FoundRun) {
    this.#database = database;
    this.#run = run;
    const row = database.get("SELECT * FROM runs WHERE run_no = ?", run.runNo);
    if (row !== null) this.#take("every row", [[CHARGES_ROW, storedQuotaDigest(row)]]);
    this.#takeTold("run", run.runNo);
    for (const step of database.all(OPEN_STEPS, run.runNo)) this.#takeStep(step);
    for (const wait of database.all("SELECT * FROM waits WHERE run_no = ?", run.runNo)) this.#takeWait(wait);
  }

  /** Whether a row that an event tells of has to be among these. */
  includes(row: string): boolean {
    if (/^(question|wait) /.test(row)) return true;
    const id = ROW_OF_TURN.exec(row)?.groups?.id;
    if (id === undefined) return false;
    const call = parseToolCallId(id);
    return this.#openTurns.has(call === null ? id : `${call.runId}/${call.path}#${call.turnIndex}`);
  }

  #takeStep(step: Row): void {
    const [stepNo, path] = [step.int("step_no"), step.text("step_path")];
    const [committed, isCurrent] = [step.optionalInt("committed"), step.optionalInt("is_current") === 1];
    if (isCurrent || committed !== null || step.optionalInt("has_calls") === 1) this.steps.add(path);
    if (step.text("status") === "succeeded") return this.#take("digests", [stepOutputRow(step)]);
    this.#openTurns.add(`${this.#run.runId}/${path}#0`);
    this.#takeCalls(`${CALL} WHERE tool_calls.step_no = ? AND turn_index = 0`, stepNo);
    if (committed === null) return;
    this.#takeTold("turns", stepNo);
    this.#openTurns.add(`${this.#run.runId}/${path}#${committed + 1}`);
    this.#takeTurn(stepNo, committed + 1);
  }

  #takeTurn(stepNo: number, turnIndex: number): void {
    const turn = this.#database.get(`${TURN} WHERE turn_no = ?`, turnNo(stepNo, turnIndex));
    if (turn === null) return;
    const rows = new Map<string, string>();
    readTurn(turn, this.#run.runId, rows);
    this.#take("digests", rows);
    this.#takeTold("turn", turnNo(stepNo, turnIndex));
    const first = turn.int("first_call_no");
    this.#takeCalls(`${CALL} WHERE call_no BETWEEN ? AND ?`, first, first + turn.int("calls") - 1);
  }

  #takeCalls(query: string, ...values: readonly number[]): void {
    const rows = new Map<string, string>();
    for (const call of this.#database.all(query, ...values)) {
      const callNo = call.int("call_no");
      this.#openCalls.add(callNo);
      readCall(this.#database, call, this.#run.runId, rows);
      this.#takeTold("call", callNo);
      for (const each of this.#database.all(TRIES, this.#run.runNo, callNo)) {
        readTry(each, this.#run.runId, rows);
        if (each.optionalInt("late_at") !== null)
          this.#takeTold("late", this.#run.runNo, callNo, each.int("attempt"));
      }
    }
    this.#take("digests", rows);
  }

  /** What was asked about a turn that is committed is over, unless it is open still. */
  #takeWait(wait: Row): void {
    const { runNo, runId } = this.#run;
    const callNo = wait.optionalInt("call_no");
    const isOver = wait.text("status") !== "open" && (callNo === null || !this.#openCalls.has(callNo));
    const index = wait.int("wait_index");
    this.#take(
      "every row",
      readToldRow(this.#database, runId, { kind: "question", key: [runNo, index] }),
      isOver,
    );
    if ((wait.optionalText("answer") ?? wait.optionalText("answered_by")) !== null)
      this.#take("digests", [[waitRow(runId, index), storedAnswerDigest(wait)]], isOver);
  }

  #takeTold(kind: ToldKind, ...key: readonly number[]): void {
    this.#take("every row", readToldRow(this.#database, this.#run.runId, { kind, key }));
  }

  #take(toldSince: OpenRow["toldSince"], rows: Iterable<readonly [string, string]>, isOver = false): void {
    for (const [row, digest] of rows) this.rows.set(row, { digest, toldSince, isOver });
  }
}

/** Those that are not finished, and the one that the run was at last. */
const OPEN_STEPS = `
  SELECT run_steps.step_no, step_path, run_steps.status, run_steps.output, run_steps.context,
         granular_states.turn_index AS committed, run_steps.step_no = current_step_no AS is_current,
         EXISTS (SELECT 1 FROM tool_calls
                  WHERE tool_calls.step_no = run_steps.step_no AND tool_calls.turn_index = 0) AS has_calls
    FROM runs JOIN run_steps USING (run_no) LEFT JOIN granular_states USING (step_no)
   WHERE run_no = ? AND (run_steps.status NOT IN ('succeeded', 'skipped') OR run_steps.step_no = current_step_no)`;
const TURN = "SELECT step_path, turns.* FROM turns JOIN run_steps USING (step_no)";
const CALL = "SELECT step_path, tool_calls.* FROM tool_calls JOIN run_steps USING (step_no)";
const TRIES = `SELECT tries.*, step_path, turn_index, call_index FROM tool_call_tries AS tries
                 JOIN tool_calls USING (call_no) JOIN run_steps USING (step_no) WHERE tries.run_no = ? AND call_no = ?`;

const ROW_OF_TURN =
  /^(turn|follow-up|charge of turn|call|state of call|receipt|(late outcome of )?try \d+ of) (?<id>.+)$/;
