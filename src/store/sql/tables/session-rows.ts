import { canonicalJson } from "../../../core/canonical-json.ts";
import type { JsonObject } from "../../../core/json.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import type { NewCheckpoint, SessionCommit, SliceChange } from "../../store.ts";
import type { RunHead } from "../run-head.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { putRow, removeRow, type Transaction } from "../transaction.ts";
import { insertCheckpoint } from "./checkpoint-rows.ts";
import { callNoOfId } from "./tool-call-rows.ts";

/** The position of a commit in the run. */
export type CommitPosition = { readonly stepKey: number; readonly turnIndex: number };

/** The number of the checkpoint that was taken with a commit, and the facts for its event. */
export type WrittenSession = { readonly checkpoint: number | null; readonly facts: JsonObject };

const NOTHING_WRITTEN: WrittenSession = { checkpoint: null, facts: {} };

/** Writes the session changes of a commit. */
export function* writeSession(
  tx: Transaction,
  run: RunHead,
  place: CommitPosition,
  commit: SessionCommit | undefined,
): SqlScript<WrittenSession> {
  if (commit === undefined) return NOTHING_WRITTEN;
  yield* writeSlices(tx, run, commit.slices);
  for (const toolCallId of commit.applied) yield* markApplied(tx, run, toolCallId);
  if (commit.checkpoint === null) return NOTHING_WRITTEN;
  // The event of this commit is the next one of the run.
  const at = { ...place, eventSeq: run.eventSeq + 1 };
  const checkpoint = insertCheckpoint(tx, run, at, commit.checkpoint);
  return { checkpoint, facts: { checkpoint } };
}

/** Writes a checkpoint that does not change the session. */
export function writeCheckpoint(
  tx: Transaction,
  run: RunHead,
  place: CommitPosition,
  checkpoint: NewCheckpoint | undefined,
): SqlScript<WrittenSession> {
  const commit = checkpoint === undefined ? undefined : { slices: [], applied: [], checkpoint };
  return writeSession(tx, run, place, commit);
}

/** Writes only what changed. */
export function* writeSlices(
  tx: Transaction,
  run: RunHead,
  changes: readonly SliceChange[],
): SqlScript<void> {
  if (changes.length === 0) return;
  run.sliceLengths ??= yield* readLengths(run.key);
  for (const change of changes) writeSlice(tx, run, run.sliceLengths, change);
}

function* readLengths(key: RunKey): SqlScript<Map<string, number>> {
  const rows = yield* all(
    "SELECT slice_name, count(*) AS n FROM slice_items WHERE run_key = ? GROUP BY slice_name",
    key,
  );
  return new Map(rows.map((row) => [row.text("slice_name"), row.int("n")]));
}

function writeSlice(tx: Transaction, run: RunHead, lengths: Map<string, number>, change: SliceChange): void {
  const { name, kind, version, length, items } = change;
  assertNameSize("slice's name", name);
  const before = lengths.get(name) ?? 0;
  assertComplete(change, before);
  if (length > 0) putRow(tx, run, "slices", { slice_name: name, kind, version });
  // An empty slice is removed, so that a program that no longer knows it can ignore it.
  else if (before > 0) removeRow(tx, run, "slices", { slice_name: name });
  for (const [index, value] of items)
    putRow(tx, run, "slice_items", { slice_name: name, item_index: index, value: canonicalJson(value) });
  for (let index = length; index < before; index++)
    removeRow(tx, run, "slice_items", { slice_name: name, item_index: index });
  lengths.set(name, length);
}

/** A slice has values from 0 to its length, without gaps. */
function assertComplete({ name, length, items }: SliceChange, before: number): void {
  const indexes = new Set(items.map(([index]) => index));
  for (const index of indexes)
    if (!(Number.isInteger(index) && index >= 0 && index < length))
      throw new Error(`Slice ${name} has ${length} values and no value ${index}: nothing was written.`);
  for (let index = before; index < length; index++)
    if (!indexes.has(index))
      throw new Error(
        `Slice ${name} has ${length} values, but value ${index} is missing: nothing was written.`,
      );
}

function* markApplied(tx: Transaction, run: RunHead, toolCallId: string): SqlScript<void> {
  const callNo = yield* callNoOfId(run, toolCallId);
  if (callNo === null) throw new Error(`Run ${run.runId} has no call ${toolCallId}: nothing was written.`);
  const known = yield* get(
    "SELECT forgotten FROM applied_calls WHERE run_key = ? AND call_no = ?",
    run.key,
    callNo,
  );
  if (known?.flag("forgotten") === false) return;
  // The event that covers it is the next one of the run.
  putRow(tx, run, "applied_calls", { call_no: callNo, event_seq: run.eventSeq + 1, forgotten: 0 });
}
