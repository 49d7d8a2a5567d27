import { toolCallId } from "../../../core/step-path.ts";
import { waitId } from "../../../core/wait.ts";
import type { Database, Row } from "../database.ts";
import type { CoveredKind, CoveredRowKey, RunHead } from "../run-head.ts";
import { digestOf } from "./digest.ts";
import { TURNS_OF_STEP } from "./turn-number.ts";

// The rows that events tell of as a whole, by name and digest: whatever the engine or a person decides by is in one of them,
// or in those whose digests are as old as events have any (a response, a call, a receipt, a try, an answer, the session).
// An intent says which rows it writes, and its event gets their digests as they are when it is recorded.

/** A row by its name, and its digest; null where it is no more. */
export type CoveredRow = readonly [row: string, digest: string | null];

type RowKind = {
  /** The row by its key. */
  readonly one: string;
  /** All of a run; several queries where no single one finds them by an index. */
  readonly all: readonly string[];
  readonly name: (row: Row, runId: string) => string;
  /** Columns of another table, and those that another digest or the chain answers for. */
  readonly apart: readonly string[];
};

const callId = (row: Row, runId: string) =>
  toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
const turnId = (row: Row, runId: string) => `${runId}/${row.text("step_path")}#${row.int("turn_index")}`;

/** A kind whose rows a run, or a step of it, has by its key. */
function kind(
  rows: string,
  key: readonly string[],
  name: RowKind["name"],
  apart: readonly string[] = [],
): RowKind {
  return {
    one: `${rows} WHERE ${key.map((column) => `${column} = ?`).join(" AND ")}`,
    all: [`${rows} WHERE run_no = ?`],
    name,
    apart,
  };
}

/** A kind whose rows a step has. */
function kindOfStep(
  table: string,
  key: readonly string[],
  name: RowKind["name"],
  apart: readonly string[] = [],
): RowKind {
  const rows = `SELECT ${table}.*, step_path FROM ${table} JOIN run_steps USING (step_no)`;
  return kind(rows, key, name, ["step_path", ...apart]);
}

export const CALL = "SELECT step_path, tool_calls.* FROM tool_calls JOIN run_steps USING (step_no)";
export const CALL_ATTEMPT = `SELECT tries.*, step_path, turn_index, call_index FROM tool_call_tries AS tries
               JOIN tool_calls USING (call_no) JOIN run_steps USING (step_no)`;
const DOUBT = `SELECT uncertain_calls.*, step_path, turn_index, call_index FROM uncertain_calls
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
  run: kind("SELECT * FROM runs", ["run_no"], () => "run", [
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
  shape: kind("SELECT shape FROM run_inputs", ["run_no"], () => "run shape"),
  attempt: kind("SELECT * FROM attempts", ["run_no", "epoch"], (row) => `attempt ${row.int("epoch")}`),
  step: kind("SELECT * FROM run_steps", ["step_no"], (row) => `state of step ${row.text("step_path")}`, [
    "output",
    "context",
  ]),
  decision: kindOfStep(
    "loop_decisions",
    ["step_no", "iteration"],
    (row) => `decision ${row.text("step_path")}[${row.int("iteration")}]`,
  ),
  turns: kindOfStep("granular_states", ["step_no"], (row) => `turns of step ${row.text("step_path")}`),
  fingerprint: kindOfStep(
    "fingerprints",
    ["step_no", "lineage"],
    (row) => `fingerprint of step ${row.text("step_path")}~${row.int("lineage")}`,
  ),
  lineage: kindOfStep(
    "lineages",
    ["step_no", "lineage"],
    (row) => `beginning of lineage ${row.text("step_path")}~${row.int("lineage")}`,
  ),
  modelCall: kindOfStep(
    "failed_model_calls",
    ["step_no", "turn_index", "attempt"],
    (row, runId) => `model call ${turnId(row, runId)}@${row.int("attempt")}`,
  ),
  turn: {
    one: `${TURN} WHERE turn_no = ?`,
    all: [`${TURN} WHERE run_no = ?`],
    name: (row, runId) => `charge of turn ${turnId(row, runId)}`,
    apart: ["step_path"],
  },
  call: {
    one: `${CALL} WHERE call_no = ?`,
    all: CALLS_OF_RUN,
    name: (row, runId) => `state of call ${callId(row, runId)}`,
    apart: [
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
    apart: [
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
    one: `${DOUBT} WHERE uncertain_calls.run_no = ? AND call_no = ?`,
    all: [`${DOUBT} WHERE uncertain_calls.run_no = ?`],
    name: (row, runId) => `doubt about ${callId(row, runId)}`,
    apart: OF_CALL,
  },
  question: kind(
    "SELECT * FROM waits",
    ["run_no", "wait_index"],
    (row, runId) => `question ${waitId(runId, row.int("wait_index"))}`,
    ["answer", "answered_by"],
  ),
} as const satisfies Record<CoveredKind, RowKind>;

/** What is of the run as a whole, and not of one turn or call: it stays as it is for long, and events that tell of it are few. */
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

/** An intent has written this row: its event will tell of it. */
export function coverRow(run: RunHead, told: CoveredKind, ...key: readonly number[]): void {
  run.touched.set(`${told} ${key.join(" ")}`, { kind: told, key });
}

/** An intent removes this row. Before it does: its event will say so. */
export function coverRemovedRow(
  database: Database,
  run: RunHead,
  told: CoveredKind,
  ...key: readonly number[]
): void {
  for (const [name] of readCoveredRow(database, run.runId, { kind: told, key })) run.removed.set(name, told);
  run.touched.delete(`${told} ${key.join(" ")}`);
}

/** The rows that an event tells of. Those of the run are apart: they are looked for among many events that have none. */
export type CoveredRows = { readonly rows?: readonly CoveredRow[]; readonly ofRun?: readonly CoveredRow[] };

/** The rows that the intent has written, as they are now. */
export function takeCoveredRows(database: Database, run: RunHead): CoveredRows {
  const rows: CoveredRow[] = [];
  const ofRun: CoveredRow[] = [];
  const tell = (kind: CoveredKind, row: CoveredRow) =>
    (RUN_LEVEL_KINDS.some((each) => each === kind) ? ofRun : rows).push(row);
  for (const [name, kind] of run.removed) tell(kind, [name, null]);
  for (const touched of run.touched.values())
    for (const row of readCoveredRow(database, run.runId, touched)) tell(touched.kind, row);
  run.touched.clear();
  run.removed.clear();
  return { ...(rows.length > 0 ? { rows } : {}), ...(ofRun.length > 0 ? { ofRun } : {}) };
}

/** The row by its key, if it is there. */
export function readCoveredRow(
  database: Database,
  runId: string,
  { kind: told, key }: CoveredRowKey,
): [string, string][] {
  const row = database.get(KINDS[told].one, ...key);
  return row === null ? [] : [coveredRow(told, row, runId)];
}

function coveredRow(told: CoveredKind, row: Row, runId: string): [string, string] {
  const { name, apart } = KINDS[told];
  return [name(row, runId), wholeDigest(row, apart)];
}

/** Each row of a run that events tell of as a whole, and its digest as it stands. */
export function readCoveredRows(
  database: Database,
  runNo: number,
  runId: string,
  kinds: readonly CoveredKind[] = Object.keys(KINDS) as CoveredKind[],
): Map<string, string> {
  const rows = new Map<string, string>();
  for (const told of kinds)
    for (const query of KINDS[told].all)
      for (const row of database.all(query, runNo)) rows.set(...coveredRow(told, row, runId));
  return rows;
}

/**
 * Every column that holds something, by its name: a column that a later version adds changes nothing for the rows that do not
 * have it.
 */
function wholeDigest(row: Row, apart: readonly string[]): string {
  const fields: (string | number | Uint8Array)[] = [];
  for (const column of row.columns()) {
    if (apart.includes(column)) continue;
    const value = row.value(column);
    if (value !== null) fields.push(column, value);
  }
  return digestOf(...fields);
}
