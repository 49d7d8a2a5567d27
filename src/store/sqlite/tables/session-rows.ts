import { deflateSync, inflateSync } from "node:zlib";
import { canonicalJson } from "../../../core/canonical-json.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { parseToolCallId } from "../../../core/step-path.ts";
import type { NewCheckpoint, SessionCommit, SliceChange } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { RunHead } from "../run-head.ts";
import { digestOf } from "./digest.ts";
import { parseJson } from "./run-row.ts";
import { findCallNo } from "./tool-call-rows.ts";

/** Snapshots of at least this many bytes are compressed. */
const COMPRESSED_FROM_BYTES = 4_096;

/** The position of a commit in the run. */
export type CommitPosition = { readonly stepKey: number; readonly turnIndex: number };

/**
 * Writes the session changes of a commit. Returns the number of its checkpoint, and the facts for the event of the
 * commit.
 */
export function writeSession(
  database: Database,
  run: RunHead,
  now: number,
  place: CommitPosition,
  commit: SessionCommit | undefined,
): { readonly checkpoint: number | null; readonly facts: JsonObject } {
  if (commit === undefined) return { checkpoint: null, facts: {} };
  const slices = writeSlices(database, run, commit.slices);
  for (const toolCallId of commit.applied) markApplied(database, run, toolCallId);
  const saved =
    commit.checkpoint === null ? null : insertCheckpoint(database, run, now, place, commit.checkpoint);
  return {
    checkpoint: saved?.index ?? null,
    facts: {
      ...(slices.length === 0 ? {} : { slices }),
      ...(commit.applied.length === 0 ? {} : { applied: commit.applied }),
      ...(saved === null ? {} : { checkpoint: [saved.index, saved.digest] }),
    },
  };
}

/** Writes a checkpoint that does not change the session. */
export function writeCheckpoint(
  database: Database,
  run: RunHead,
  now: number,
  place: CommitPosition,
  checkpoint: NewCheckpoint | undefined,
): ReturnType<typeof writeSession> {
  const commit = checkpoint === undefined ? undefined : { slices: [], applied: [], checkpoint };
  return writeSession(database, run, now, place, commit);
}

/**
 * Writes only what changed. Returns, for the event, each slice with its length, the digests of the written items, and
 * its own.
 */
export function writeSlices(database: Database, run: RunHead, changes: readonly SliceChange[]): Json[] {
  return changes.map(({ name, kind, version, length, items }) => {
    // An empty slice is removed, so that a program that no longer knows it can ignore it.
    if (length === 0) database.run("DELETE FROM slices WHERE run_no = ? AND slice_name = ?", run.runNo, name);
    else
      database.run(
        `INSERT INTO slices VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET kind = excluded.kind, version = excluded.version
           WHERE kind <> excluded.kind OR version <> excluded.version`,
        run.runNo,
        name,
        kind,
        version,
      );
    const digests = items.map(([index, value]) => {
      const text = canonicalJson(value);
      database.run(
        "INSERT INTO slice_items VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        run.runNo,
        name,
        index,
        text,
      );
      if (!(Number.isInteger(index) && index >= 0 && index < length))
        throw new Error(`Slice ${name} has ${length} values and no value ${index}: nothing was written.`);
      return [index, digestOf(text)];
    });
    database.run(
      "DELETE FROM slice_items WHERE run_no = ? AND slice_name = ? AND item_index >= ?",
      run.runNo,
      name,
      length,
    );
    return [name, length, digests, digestOf(kind, version)];
  });
}

function markApplied(database: Database, run: RunHead, toolCallId: string): void {
  const callNo = callNoOfId(database, run, toolCallId);
  if (callNo === null) throw new Error(`Run ${run.runId} has no call ${toolCallId}: nothing was written.`);
  // The event that covers it is the next one of the run.
  database.run(
    `INSERT INTO applied_calls VALUES (?, ?, ?, 0)
       ON CONFLICT DO UPDATE SET event_seq = excluded.event_seq, forgotten = 0 WHERE forgotten = 1`,
    run.runNo,
    callNo,
    run.eventSeq + 1,
  );
}

/** The number of a call's row by its id; null if the run has no such call. */
export function callNoOfId(database: Database, run: RunHead, toolCallId: string): number | null {
  const place = parseToolCallId(toolCallId);
  if (place === null || place.runId !== run.runId) return null;
  const step = database.get(
    "SELECT step_no FROM run_steps WHERE run_no = ? AND step_path = ?",
    run.runNo,
    place.path,
  );
  return step === null ? null : findCallNo(database, run, { ...place, stepKey: step.int("step_no") });
}

function insertCheckpoint(
  database: Database,
  run: RunHead,
  now: number,
  { stepKey, turnIndex }: CommitPosition,
  { type, snapshot, cursor }: NewCheckpoint,
): { readonly index: number; readonly digest: string } {
  const last = database.get("SELECT max(checkpoint_index) AS n FROM checkpoints WHERE run_no = ?", run.runNo);
  const index = (last?.optionalInt("n") ?? 0) + 1;
  const text = canonicalJson(snapshot);
  const cursorText = canonicalJson(cursor);
  const bytes = Buffer.from(text, "utf8");
  const isCompressed = bytes.byteLength >= COMPRESSED_FROM_BYTES;
  database.run(
    "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
    run.runNo,
    index,
    stepKey,
    turnIndex,
    now,
    type,
    run.eventSeq + 1,
    cursorText,
    isCompressed ? "deflate" : "json",
    bytes.byteLength,
    isCompressed ? deflateSync(bytes) : bytes,
  );
  return { index, digest: digestOf(type, stepKey, turnIndex, cursorText, text) };
}

export function storedCheckpointDigest(row: Row): string {
  return digestOf(
    row.text("checkpoint_type"),
    row.int("step_no"),
    row.int("turn_index"),
    row.text("cursor"),
    snapshotText(row),
  );
}

export function snapshotOf(row: Row): JsonObject {
  return parseJson(snapshotText(row)) as JsonObject;
}

function snapshotText(row: Row): string {
  const bytes = Buffer.from(DECODE[row.text("encoding") as keyof typeof DECODE](row.bytes("snapshot")));
  if (bytes.byteLength !== row.int("size")) throw new Error("The length of the snapshot has changed.");
  return bytes.toString("utf8");
}

const DECODE = { json: (bytes: Uint8Array) => bytes, deflate: inflated } as const;

/** Anything behind the compressed text was not written by Pawl. */
function inflated(bytes: Uint8Array): Uint8Array {
  const { buffer, engine } = inflateSync(bytes, { info: true }) as unknown as {
    buffer: Buffer;
    engine: { bytesWritten: number };
  };
  if (engine.bytesWritten !== bytes.byteLength)
    throw new Error("The snapshot has bytes that Pawl did not write.");
  return buffer;
}
