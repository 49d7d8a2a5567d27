import { toolCallId } from "../../../core/step-path.ts";
import { waitId } from "../../../core/wait.ts";
import type { Database, Row } from "../database.ts";
import type { CoveredKind, CoveredRowKey, RunHead } from "../run-head.ts";
import { digestOf } from "./digest.ts";
import { TURNS_OF_STEP } from "./turn-number.ts";

// The rows that events cover as a whole, by name and digest. Everything the engine or a person decides by is in one
// of them, or in a row covered since events first had digests (a response, a call, a receipt, a call attempt, an
// answer, the session). An intent names the rows it writes, and its event gets their digests at the time it is
// recorded.
//
// Row names are stored in events and never change: there a call attempt is a "try".

/** A row by name, with its digest; null if it was removed. */
type CoveredRow = readonly [row: string, digest: string | null];

type RowKind = {
  /** Selects one row by its key. */
  readonly one: string;
  /** Selects all rows of a run; several queries if no single one can use an index. */
  readonly all: readonly string[];
  readonly name: (row: Row, runId: string) => string;
  /** Columns of another table, and those that another digest or the chain covers. */
  readonly excluded: readonly string[];
};

const callId = (row: Row, runId: string) =>
  toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
const turnId = (row: Row, runId: string) => `${runId}/${row.text("step_path")}#${row.int("turn_index")}`;

/** A kind whose rows belong to a run, or to one of its steps, by key. */
function runKind(
  rows: string,
  key: readonly string[],
  name: RowKind["name"],
  excluded: readonly string[] = [],
): RowKind {
  return {
    one: `${rows} WHERE ${key.map((column) => `${column} = ?`).join(" AND ")}`,
    all: [`${rows} WHERE run_no = ?`],
    name,
    excluded,
  };
}

/** A kind whose rows belong to a step. */
function stepKind(
  table: string,
  key: readonly string[],
  name: RowKind["name"],
  excluded: readonly string[] = [],
): RowKind {
  const rows = `SELECT ${table}.*, step_path FROM ${table} JOIN run_steps USING (step_no)`;
  return runKind(rows, key, name, ["step_path", ...excluded]);
}

export const CALL = "SELECT step_path, tool_calls.* FROM tool_calls JOIN run_steps USING (step_no)";
export const CALL_ATTEMPT = `SELECT tries.*, step_path, turn_index, call_index FROM tool_call_tries AS tries
               JOIN tool_calls USING (call_no) JOIN run_steps USING (step_no)`;
const UNCERTAIN = `SELECT uncertain_calls.*, step_path, turn_index, call_index FROM uncertain_calls
                 JOIN tool_calls USING (call_no) JOIN run_steps USING (step_no)`;
const OF_CALL = ["step_path", "turn_index", "call_index"];

/** Every call of a run: those of its turns, and those of its code steps. */
export const CALLS_OF_RUN = [
  `SELECT step_path, tool_calls.* FROM run_steps JOIN turns ON ${TURNS_OF_STEP}
     JOIN tool_calls ON call_no BETWEEN first_call_no AND first_call_no + calls - 1 WHERE run_no = ?`,
  `SELECT step_path, tool_calls.* FROM run_steps JOIN tool_calls USING (step_no)
    WHERE run_no = ? AND turn_index = 0`,
] as const;

const TURN = `SELECT turn_no, turns.step_no, turn_index, attempt, opened_at, settled_at, reserved_tokens,
    reserved_micro_dollars, basis, charged_tokens, charged_micro_dollars, input_tokens, output_tokens, cached_input_tokens,
    reasoning_tokens, tokens, first_call_no, calls, step_path FROM run_steps JOIN turns ON ${TURNS_OF_STEP}`;

const KINDS = {
  run: runKind("SELECT * FROM runs", ["run_no"], () => "run", [
    "updated_at",
    "charged_tokens",
    "charged_micro_dollars",
    "reserved_tokens",
    "reserved_micro_dollars",
    "event_seq",
    "event_hash",
    "output",
    "context",
  ]),
  shape: runKind("SELECT shape FROM run_inputs", ["run_no"], () => "run shape"),
  attempt: runKind("SELECT * FROM attempts", ["run_no", "epoch"], (row) => `attempt ${row.int("epoch")}`),
  step: runKind("SELECT * FROM run_steps", ["step_no"], (row) => `state of step ${row.text("step_path")}`, [
    "output",
    "context",
  ]),
  decision: stepKind(
    "loop_decisions",
    ["step_no", "iteration"],
    (row) => `decision ${row.text("step_path")}[${row.int("iteration")}]`,
  ),
  turns: stepKind("granular_states", ["step_no"], (row) => `turns of step ${row.text("step_path")}`),
  fingerprint: stepKind(
    "fingerprints",
    ["step_no", "lineage"],
    (row) => `fingerprint of step ${row.text("step_path")}~${row.int("lineage")}`,
  ),
  lineage: stepKind(
    "lineages",
    ["step_no", "lineage"],
    (row) => `beginning of lineage ${row.text("step_path")}~${row.int("lineage")}`,
  ),
  modelCall: stepKind(
    "failed_model_calls",
    ["step_no", "turn_index", "attempt"],
    (row, runId) => `model call ${turnId(row, runId)}@${row.int("attempt")}`,
  ),
  turn: {
    one: `${TURN} WHERE turn_no = ?`,
    all: [`${TURN} WHERE run_no = ?`],
    name: (row, runId) => `charge of turn ${turnId(row, runId)}`,
    excluded: ["step_path"],
  },
  call: {
    one: `${CALL} WHERE call_no = ?`,
    all: CALLS_OF_RUN,
    name: (row, runId) => `state of call ${callId(row, runId)}`,
    excluded: [
      "step_path",
      "tool_namespace",
      "tool_name",
      "side_effect_class",
      "recovery",
      "identity_hash",
      "occurrence",
      "idempotency_key",
      "request",
    ],
  },
  late: {
    one: `${CALL_ATTEMPT} WHERE tries.run_no = ? AND call_no = ? AND tries.attempt = ?`,
    all: [
      `${CALL_ATTEMPT} WHERE tries.run_no = ? AND coalesce(late_at, late_status, late_output) IS NOT NULL`,
    ],
    name: (row, runId) => `late outcome of try ${row.int("attempt")} of ${callId(row, runId)}`,
    excluded: [
      ...OF_CALL,
      "started_at",
      "ended_at",
      "outcome",
      "error_code",
      "error_detail",
      "external_correlation_id",
    ],
  },
  doubt: {
    one: `${UNCERTAIN} WHERE uncertain_calls.run_no = ? AND call_no = ?`,
    all: [`${UNCERTAIN} WHERE uncertain_calls.run_no = ?`],
    name: (row, runId) => `doubt about ${callId(row, runId)}`,
    excluded: OF_CALL,
  },
  question: runKind(
    "SELECT * FROM waits",
    ["run_no", "wait_index"],
    (row, runId) => `question ${waitId(runId, row.int("wait_index"))}`,
    ["answer", "answered_by"],
  ),
} as const satisfies Record<CoveredKind, RowKind>;

/**
 * The kinds that belong to the run as a whole, not to one turn or call: they rarely change, and few events cover
 * them.
 */
export const RUN_LEVEL_KINDS = [
  "shape",
  "attempt",
  "step",
  "decision",
  "fingerprint",
  "lineage",
  "doubt",
  "question",
] as const satisfies readonly CoveredKind[];

/** An intent has written this row: its event will cover it. */
export function coverRow(run: RunHead, kind: CoveredKind, ...key: readonly number[]): void {
  run.writtenRows.set(`${kind} ${key.join(" ")}`, { kind, key });
}

/** To be called before an intent removes this row: its event will record the removal. */
export function coverRemovedRow(
  database: Database,
  run: RunHead,
  kind: CoveredKind,
  ...key: readonly number[]
): void {
  for (const [name] of readCoveredRow(database, run.runId, { kind, key })) run.removedRows.set(name, kind);
  run.writtenRows.delete(`${kind} ${key.join(" ")}`);
}

/**
 * The rows that an event covers. Those of the run as a whole are separate, because they have to be found among many
 * events that have none.
 */
export type CoveredRows = { readonly rows?: readonly CoveredRow[]; readonly ofRun?: readonly CoveredRow[] };

/** The rows that the intent has written, in their current state. */
export function takeCoveredRows(database: Database, run: RunHead): CoveredRows {
  const rows: CoveredRow[] = [];
  const ofRun: CoveredRow[] = [];
  const add = (kind: CoveredKind, row: CoveredRow) =>
    (RUN_LEVEL_KINDS.some((each) => each === kind) ? ofRun : rows).push(row);
  for (const [name, kind] of run.removedRows) add(kind, [name, null]);
  for (const written of run.writtenRows.values())
    for (const row of readCoveredRow(database, run.runId, written)) add(written.kind, row);
  run.writtenRows.clear();
  run.removedRows.clear();
  return { ...(rows.length > 0 ? { rows } : {}), ...(ofRun.length > 0 ? { ofRun } : {}) };
}

/** The row by its key, if it exists. */
export function readCoveredRow(
  database: Database,
  runId: string,
  { kind, key }: CoveredRowKey,
): [string, string][] {
  const row = database.get(KINDS[kind].one, ...key);
  return row === null ? [] : [coveredRow(kind, row, runId)];
}

function coveredRow(kind: CoveredKind, row: Row, runId: string): [string, string] {
  const { name, excluded } = KINDS[kind];
  return [name(row, runId), rowDigest(row, excluded)];
}

/** All rows of a run that events cover as a whole, with their current digests. */
export function readCoveredRows(
  database: Database,
  runNo: number,
  runId: string,
  kinds: readonly CoveredKind[] = Object.keys(KINDS) as CoveredKind[],
): Map<string, string> {
  const rows = new Map<string, string>();
  for (const kind of kinds)
    for (const query of KINDS[kind].all)
      for (const row of database.all(query, runNo)) rows.set(...coveredRow(kind, row, runId));
  return rows;
}

/**
 * Covers every column that is not null, by name: a column added by a later version does not change the digest of rows
 * that do not use it.
 */
function rowDigest(row: Row, excluded: readonly string[]): string {
  const fields: (string | number | Uint8Array)[] = [];
  for (const column of row.columns()) {
    if (excluded.includes(column)) continue;
    const value = row.value(column);
    if (value !== null) fields.push(column, value);
  }
  return digestOf(...fields);
}
