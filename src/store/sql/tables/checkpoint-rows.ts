import { canonicalJson, sha256Hex } from "../../../core/canonical-json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { NewCheckpoint } from "../../store.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { insertRow, keepRow, type Transaction } from "../transaction.ts";
import { parseJson } from "./run-row.ts";

// Most slices do not change from one checkpoint to the next. So the content of a slice is stored once, under its hash,
// and a snapshot has the hash in place of it.

/** The position of a commit in the run, and its event. */
export type CheckpointPosition = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly eventSeq: number;
};

/** Returns the number of the checkpoint. */
export function insertCheckpoint(
  tx: Transaction,
  run: RunHead,
  { stepKey, turnIndex, eventSeq }: CheckpointPosition,
  { type, snapshot, cursor }: NewCheckpoint,
): number {
  run.counts.checkpoints += 1;
  const contents = contentsOf(snapshot);
  for (const [name, content] of contents) keepContent(tx, run, name, content);
  insertRow(tx, run, "checkpoints", {
    checkpoint_index: run.counts.checkpoints,
    step_no: stepKey,
    turn_index: turnIndex,
    created_at: tx.now,
    checkpoint_type: type,
    event_seq: eventSeq,
    cursor: canonicalJson(cursor),
    size: sizeOf(snapshot, contents),
    snapshot: canonicalJson(withSlices(snapshot, hashesOf(contents))),
    superseded: 0,
  });
  return run.counts.checkpoints;
}

/** The slices of a snapshot as texts, by name. */
function contentsOf({ slices }: JsonObject): ReadonlyMap<string, string> {
  if (!isJsonObject(slices)) return new Map();
  return new Map(Object.entries(slices).map(([name, slice]) => [name, canonicalJson(slice)]));
}

function hashesOf(contents: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries([...contents].map(([name, content]) => [name, sha256Hex(content)]));
}

function withSlices(snapshot: JsonObject, slices: JsonObject): JsonObject {
  return isJsonObject(snapshot.slices) ? { ...snapshot, slices } : snapshot;
}

/** Writes a content, unless the last checkpoint had the same slice with the same content. */
function keepContent(tx: Transaction, run: RunHead, name: string, content: string): void {
  const hash = sha256Hex(content);
  if (run.sliceContents.get(name) === hash) return;
  keepRow(tx, run, "slice_contents", { content_hash: hash, content });
  run.sliceContents.set(name, hash);
}

/** The bytes of the whole snapshot as JSON, without making that text. */
function sizeOf(snapshot: JsonObject, contents: ReadonlyMap<string, string>): number {
  let size = Buffer.byteLength(canonicalJson(withSlices(snapshot, {}))) + Math.max(0, contents.size - 1);
  for (const [name, content] of contents)
    size += Buffer.byteLength(`${JSON.stringify(name)}:`) + Buffer.byteLength(content);
  return size;
}

const CONTENT = "SELECT content FROM slice_contents WHERE run_key = ? AND content_hash = ?";

/** The whole snapshot of a checkpoint. */
export function* readSnapshot(key: RunKey, row: Row): SqlScript<JsonObject> {
  const stored = parseJson(row.text("snapshot"));
  if (!isJsonObject(stored)) throw new Error("The snapshot is not a JSON object.");
  const slices: { [name: string]: Json } = {};
  for (const [name, hash] of Object.entries(isJsonObject(stored.slices) ? stored.slices : {}))
    slices[name] = parseJson(yield* readContent(key, name, hash));
  const snapshot = withSlices(stored, slices);
  if (Buffer.byteLength(canonicalJson(snapshot)) !== row.int("size"))
    throw new Error("The length of the snapshot has changed.");
  return snapshot;
}

function* readContent(key: RunKey, name: string, hash: Json | undefined): SqlScript<string> {
  const row = typeof hash === "string" ? yield* get(CONTENT, key, hash) : null;
  const content = row?.text("content");
  if (content === undefined) throw new Error(`The content of slice ${name} is missing.`);
  if (sha256Hex(content) !== hash) throw new Error(`The content of slice ${name} has changed.`);
  return content;
}
