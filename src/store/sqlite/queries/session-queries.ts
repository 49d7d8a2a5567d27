import type { Json, JsonObject } from "../../../core/json.ts";
import type {
  AttemptRecord,
  CheckpointRange,
  CheckpointRecord,
  CheckpointSnapshot,
  CheckpointType,
  LineageRecord,
  StoredSlice,
} from "../../store.ts";
import type { Database, Row } from "../database.ts";
import { findRun, parseJson, requireRunNo, runNotFound } from "../tables/run-row.ts";
import { callNoOfId, snapshotOf } from "../tables/session-rows.ts";

export function readSession(database: Database, runId: string): StoredSlice[] {
  const runNo = requireRunNo(database, runId);
  const values = new Map<string, Json[]>();
  const items = "SELECT slice_name, value FROM slice_items WHERE run_no = ? ORDER BY slice_name, item_index";
  for (const row of database.iterate(items, runNo)) {
    const name = row.text("slice_name");
    const known = values.get(name);
    const value = parseJson(row.text("value"));
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return database.all("SELECT * FROM slices WHERE run_no = ? ORDER BY slice_name", runNo).map((row) => ({
    name: row.text("slice_name"),
    kind: row.text("kind") as StoredSlice["kind"],
    version: row.int("version"),
    values: values.get(row.text("slice_name")) ?? [],
  }));
}

export function isApplied(database: Database, runId: string, toolCallId: string): boolean {
  return appliedRow(database, runId, toolCallId)?.int("forgotten") === 0;
}

export function isForgotten(database: Database, runId: string, toolCallId: string): boolean {
  return appliedRow(database, runId, toolCallId)?.int("forgotten") === 1;
}

function appliedRow(database: Database, runId: string, toolCallId: string): Row | null {
  const run = findRun(database, runId);
  if (run === null) throw runNotFound(runId);
  const callNo = callNoOfId(database, run, toolCallId);
  if (callNo === null) return null;
  return database.get(
    "SELECT forgotten FROM applied_calls WHERE run_no = ? AND call_no = ?",
    run.runNo,
    callNo,
  );
}

const CHECKPOINTS = "SELECT checkpoints.*, step_path FROM checkpoints JOIN run_steps USING (step_no)";

export function listCheckpoints(
  database: Database,
  runId: string,
  { after, limit = Number.MAX_SAFE_INTEGER }: CheckpointRange = {},
): CheckpointRecord[] {
  return database
    .all(
      `${CHECKPOINTS} WHERE checkpoints.run_no = ? AND checkpoint_index > ? ORDER BY checkpoint_index LIMIT ?`,
      requireRunNo(database, runId),
      after?.checkpoint ?? 0,
      limit,
    )
    .map(checkpointRecord);
}

export function readCheckpoint(
  database: Database,
  runId: string,
  checkpoint: number | undefined,
): CheckpointSnapshot | null {
  const runNo = requireRunNo(database, runId);
  const row =
    checkpoint === undefined
      ? database.get(
          `${CHECKPOINTS} WHERE checkpoints.run_no = ? AND superseded = 0 AND checkpoint_type <> 'pre_side_effect' ORDER BY checkpoint_index DESC LIMIT 1`,
          runNo,
        )
      : database.get(
          `${CHECKPOINTS} WHERE checkpoints.run_no = ? AND checkpoint_index = ?`,
          runNo,
          checkpoint,
        );
  return row === null ? null : { ...checkpointRecord(row), snapshot: snapshotOf(row) };
}

function checkpointRecord(row: Row): CheckpointRecord {
  return {
    checkpoint: row.int("checkpoint_index"),
    type: row.text("checkpoint_type") as CheckpointType,
    stepPath: row.text("step_path"),
    turnIndex: row.int("turn_index"),
    cursor: parseJson(row.text("cursor")) as JsonObject,
    size: row.int("size"),
    isSuperseded: row.int("superseded") === 1,
    at: row.int("created_at"),
  };
}

export function listLineages(database: Database, runId: string): LineageRecord[] {
  return database
    .all(
      `SELECT lineages.*, step_path FROM run_steps JOIN lineages USING (step_no)
        WHERE run_no = ? ORDER BY step_index, lineage`,
      requireRunNo(database, runId),
    )
    .map((row) => ({
      stepPath: row.text("step_path"),
      lineage: row.int("lineage"),
      firstTurn: row.int("first_turn"),
      baseTurn: row.int("base_turn"),
      openTurn: row.optionalInt("open_turn"),
      checkpoint: row.optionalInt("checkpoint_index"),
      at: row.int("begun_at"),
    }));
}

export function listAttempts(database: Database, runId: string): AttemptRecord[] {
  return database
    .all("SELECT * FROM attempts WHERE run_no = ? ORDER BY epoch", requireRunNo(database, runId))
    .map((row) => ({
      epoch: row.int("epoch"),
      owner: row.text("owner"),
      startedAt: row.int("started_at"),
      endedAt: row.optionalInt("ended_at"),
      endStatus: row.optionalText("end_status") as AttemptRecord["endStatus"],
      resumedFrom: row.optionalText("resumed_from") as AttemptRecord["resumedFrom"],
      reason: row.optionalText("reason"),
      traceParent: row.optionalText("trace_parent"),
    }));
}
