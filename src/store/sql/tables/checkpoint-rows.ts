import { canonicalJson, sha256Hex } from "../../../core/canonical-json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { NewCheckpoint } from "../../store.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { insertRow, keepRow, type Transaction } from "../transaction.ts";
import { parseJson } from "./run-row.ts";

// Most slices do not change from one checkpoint to the next, and most others grow at their end. So the text of a slice
// is cut into pieces, each is stored once, under its hash, and a snapshot has the hashes in place of the slice.

/**
 * In characters. Of a slice that grows, the last piece is written again with each checkpoint. Each piece costs some 200
 * bytes for its hash, in its row, in each snapshot and in an event.
 */
const PIECE_LENGTH = 8_192;

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
  const pieces = new Map([...contents].map(([name, content]) => [name, piecesOf(content)]));
  for (const [name, byHash] of pieces) keepPieces(tx, run, name, byHash);
  insertRow(tx, run, "checkpoints", {
    checkpoint_index: run.counts.checkpoints,
    step_no: stepKey,
    turn_index: turnIndex,
    created_at: tx.now,
    checkpoint_type: type,
    event_seq: eventSeq,
    cursor: canonicalJson(cursor),
    size: sizeOf(snapshot, contents),
    snapshot: canonicalJson(withSlices(snapshot, hashesOf(pieces))),
    superseded: 0,
  });
  return run.counts.checkpoints;
}

/** The slices of a snapshot as texts, by name. */
function contentsOf({ slices }: JsonObject): ReadonlyMap<string, string> {
  if (!isJsonObject(slices)) return new Map();
  return new Map(Object.entries(slices).map(([name, slice]) => [name, canonicalJson(slice)]));
}

/** A piece of a content, with its hash. */
type SlicePiece = { readonly hash: string; readonly text: string };

function piecesOf(content: string): readonly SlicePiece[] {
  const pieces: SlicePiece[] = [];
  for (let start = 0; start < content.length; ) {
    let end = start + PIECE_LENGTH;
    // Half of a character cannot be stored.
    if (/[\ud800-\udbff]/.test(content.charAt(end - 1))) end += 1;
    const text = content.slice(start, end);
    pieces.push({ hash: sha256Hex(text), text });
    start = end;
  }
  return pieces;
}

function hashesOf(pieces: ReadonlyMap<string, readonly SlicePiece[]>): JsonObject {
  return Object.fromEntries([...pieces].map(([name, each]) => [name, each.map(({ hash }) => hash)]));
}

function withSlices(snapshot: JsonObject, slices: JsonObject): JsonObject {
  return isJsonObject(snapshot.slices) ? { ...snapshot, slices } : snapshot;
}

/** Writes the pieces of a slice that the last checkpoint did not have. */
function keepPieces(tx: Transaction, run: RunHead, name: string, pieces: readonly SlicePiece[]): void {
  const known = run.slicePieces.get(name);
  for (const { hash, text } of pieces)
    if (known?.has(hash) !== true) keepRow(tx, run, "slice_contents", { content_hash: hash, content: text });
  run.slicePieces.set(name, new Set(pieces.map(({ hash }) => hash)));
}

/** The bytes of the whole snapshot as JSON, without making that text. */
function sizeOf(snapshot: JsonObject, contents: ReadonlyMap<string, string>): number {
  let size = Buffer.byteLength(canonicalJson(withSlices(snapshot, {}))) + Math.max(0, contents.size - 1);
  for (const [name, content] of contents)
    size += Buffer.byteLength(`${JSON.stringify(name)}:`) + Buffer.byteLength(content);
  return size;
}

const PIECE = "SELECT content FROM slice_contents WHERE run_key = ? AND content_hash = ?";

/** The whole snapshot of a checkpoint. */
export function* readSnapshot(key: RunKey, row: Row): SqlScript<JsonObject> {
  const stored = parseJson(row.text("snapshot"));
  if (!isJsonObject(stored)) throw new Error("The snapshot is not a JSON object.");
  const slices: { [name: string]: Json } = {};
  for (const [name, hashes] of Object.entries(isJsonObject(stored.slices) ? stored.slices : {}))
    slices[name] = parseJson(yield* readContent(key, name, hashes));
  const snapshot = withSlices(stored, slices);
  if (Buffer.byteLength(canonicalJson(snapshot)) !== row.int("size"))
    throw new Error("The length of the snapshot has changed.");
  return snapshot;
}

function* readContent(key: RunKey, name: string, hashes: Json | undefined): SqlScript<string> {
  const pieces: string[] = [];
  for (const hash of Array.isArray(hashes) ? (hashes as readonly Json[]) : []) {
    const row = typeof hash === "string" ? yield* get(PIECE, key, hash) : null;
    if (row === null) throw new Error(`A piece of slice ${name} is missing.`);
    const text = row.text("content");
    if (sha256Hex(text) !== hash) throw new Error(`A piece of slice ${name} has changed.`);
    pieces.push(text);
  }
  return pieces.join("");
}
