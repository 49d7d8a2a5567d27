import type { Json, JsonObject } from "../../../core/json.ts";
import type {
  AttemptRecord,
  CheckpointRange,
  CheckpointRecord,
  CheckpointSnapshot,
  LineageRecord,
  StoredSlice,
} from "../../store.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import { ATTEMPT_ENDS, CHECKPOINT_TYPES, RESUMED_FROM, SLICE_KINDS } from "../stored-words.ts";
import { readSnapshot } from "../tables/checkpoint-rows.ts";
import { missingRun } from "../tables/missing-run.ts";
import { findRun, parseJson, requireRunKey } from "../tables/run-row.ts";
import { callNoOfId } from "../tables/tool-call-rows.ts";

export function* readSession(runId: string): SqlScript<StoredSlice[]> {
  const key = yield* requireRunKey(runId);
  const values = new Map<string, Json[]>();
  const items = yield* all(
    "SELECT slice_name, value FROM slice_items WHERE run_key = ? ORDER BY slice_name, item_index",
    key,
  );
  for (const row of items) {
    const name = row.text("slice_name");
    const known = values.get(name);
    const value = parseJson(row.text("value"));
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  const slices = yield* all(
    "SELECT slice_name, kind, version FROM slices WHERE run_key = ? ORDER BY slice_name",
    key,
  );
  return slices.map((row) => ({
    name: row.text("slice_name"),
    kind: row.oneOf("kind", SLICE_KINDS),
    version: row.int("version"),
    values: values.get(row.text("slice_name")) ?? [],
  }));
}

export function* isApplied(runId: string, toolCallId: string): SqlScript<boolean> {
  return (yield* appliedRow(runId, toolCallId))?.flag("forgotten") === false;
}

export function* isForgotten(runId: string, toolCallId: string): SqlScript<boolean> {
  return (yield* appliedRow(runId, toolCallId))?.flag("forgotten") === true;
}

function* appliedRow(runId: string, toolCallId: string): SqlScript<Row | null> {
  const run = yield* findRun(runId);
  if (run === null) throw yield* missingRun(runId);
  const callNo = yield* callNoOfId(run, toolCallId);
  if (callNo === null) return null;
  return yield* get("SELECT forgotten FROM applied_calls WHERE run_key = ? AND call_no = ?", run.key, callNo);
}

const CHECKPOINT_COLUMNS = `checkpoint_index, checkpoint_type, step_path, turn_index, cursor, size, superseded,
  checkpoints.created_at, contract`;
const WITH_STEPS = `FROM checkpoints JOIN run_steps USING (run_key, step_no) JOIN run_inputs USING (run_key)
  WHERE run_key = ?`;

const CHECKPOINTS_AFTER = `SELECT ${CHECKPOINT_COLUMNS} ${WITH_STEPS} AND checkpoint_index > ?
  ORDER BY checkpoint_index LIMIT ?`;

export function* listCheckpoints(
  runId: string,
  { after, limit = Number.MAX_SAFE_INTEGER }: CheckpointRange = {},
): SqlScript<CheckpointRecord[]> {
  const key = yield* requireRunKey(runId);
  return (yield* all(CHECKPOINTS_AFTER, key, after?.checkpoint ?? 0, limit)).map(checkpointRecord);
}

const SNAPSHOTS = `SELECT ${CHECKPOINT_COLUMNS}, snapshot ${WITH_STEPS}`;
const SNAPSHOT = `${SNAPSHOTS} AND checkpoint_index = ?`;
const LATEST =
  "AND superseded = 0 AND checkpoint_type <> 'pre_side_effect' ORDER BY checkpoint_index DESC LIMIT 1";
const LATEST_SNAPSHOT = `${SNAPSHOTS} ${LATEST}`;
const LATEST_CHECKPOINT = `SELECT ${CHECKPOINT_COLUMNS} ${WITH_STEPS} ${LATEST}`;

/** The checkpoint that a resume from the last milestone begins with, without its snapshot. */
export function* findMilestone(runId: string): SqlScript<CheckpointRecord | null> {
  const row = yield* get(LATEST_CHECKPOINT, yield* requireRunKey(runId));
  return row === null ? null : checkpointRecord(row);
}

export function* readCheckpoint(
  runId: string,
  checkpoint: number | undefined,
): SqlScript<CheckpointSnapshot | null> {
  const key = yield* requireRunKey(runId);
  if (checkpoint !== undefined && !Number.isSafeInteger(checkpoint)) return null;
  const row = yield* checkpoint === undefined ? get(LATEST_SNAPSHOT, key) : get(SNAPSHOT, key, checkpoint);
  return row === null ? null : { ...checkpointRecord(row), snapshot: yield* readSnapshot(key, row) };
}

function checkpointRecord(row: Row): CheckpointRecord {
  return {
    checkpoint: row.int("checkpoint_index"),
    type: row.oneOf("checkpoint_type", CHECKPOINT_TYPES),
    stepPath: row.text("step_path"),
    turnIndex: row.int("turn_index"),
    cursor: parseJson(row.text("cursor")) as JsonObject,
    contract: parseJson(row.optionalText("contract")) as JsonObject | null,
    size: row.int("size"),
    isSuperseded: row.flag("superseded"),
    at: row.int("created_at"),
  };
}

export function* listLineages(runId: string): SqlScript<LineageRecord[]> {
  const rows = yield* all(
    `SELECT lineages.*, step_path FROM lineages JOIN run_steps USING (run_key, step_no)
      WHERE run_key = ? ORDER BY step_no, lineage`,
    yield* requireRunKey(runId),
  );
  return rows.map((row) => ({
    stepPath: row.text("step_path"),
    lineage: row.int("lineage"),
    firstTurn: row.int("first_turn"),
    baseTurn: row.int("base_turn"),
    openTurn: row.optionalInt("open_turn"),
    checkpoint: row.optionalInt("checkpoint_index"),
    summary: row.optionalText("summary"),
    at: row.int("begun_at"),
  }));
}

export function* listAttempts(runId: string): SqlScript<AttemptRecord[]> {
  const rows = yield* all(
    "SELECT * FROM attempts WHERE run_key = ? ORDER BY epoch",
    yield* requireRunKey(runId),
  );
  return rows.map((row) => ({
    epoch: row.int("epoch"),
    owner: row.text("owner"),
    startedAt: row.int("started_at"),
    endedAt: row.optionalInt("ended_at"),
    endStatus: row.optionalOneOf("end_status", ATTEMPT_ENDS),
    resumedFrom: row.optionalOneOf("resumed_from", RESUMED_FROM),
    reason: row.optionalText("reason"),
    traceParent: row.optionalText("trace_parent"),
  }));
}
