import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { blobsToDelete } from "../../../core/run/blob-retention.ts";
import type { BlobCollection, BlobRetention } from "../../store.ts";
import type { Row } from "../row.ts";
import type { RunHead } from "../run-head.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import type { Transaction } from "../transaction.ts";

/** Stores a blob of the run once, however many of its results are equal. */
export function putBlob(
  tx: Transaction,
  run: RunHead,
  blob: { readonly blobId: string; readonly bytes: Uint8Array },
): void {
  const { blobId, size } = blobReferenceOf(blob.bytes);
  if (blobId !== blob.blobId)
    throw new Error(`Blob ${blob.blobId} does not hold what its id says (${blobId}).`);
  tx.write({
    kind: "keep",
    table: "blobs",
    row: {
      run_key: run.key,
      blob_hash: Buffer.from(blobId, "hex"),
      created_at: tx.now,
      size,
      bytes: blob.bytes,
    },
  });
}

export function* readBlob(key: RunKey, blobId: string): SqlScript<Uint8Array | null> {
  if (!/^[0-9a-f]{64}$/.test(blobId)) return null;
  const row = yield* get(
    "SELECT bytes FROM blobs WHERE run_key = ? AND blob_hash = ?",
    key,
    Buffer.from(blobId, "hex"),
  );
  return row === null ? null : row.bytes("bytes");
}

/** The bytes of so many blobs are held at a time, and at least those of one. */
const BYTES_IN_A_PAGE = 4_000_000;

const BLOB_SIZES =
  "SELECT blob_hash, size FROM blobs WHERE run_key = ? AND blob_hash > ? ORDER BY blob_hash LIMIT 200";
const BLOBS = `SELECT blob_hash, created_at, size, bytes FROM blobs
   WHERE run_key = ? AND blob_hash > ? AND blob_hash <= ? ORDER BY blob_hash`;

/** Some blobs of a run, in the order of their hashes, after the given one. */
export function* blobPage(key: RunKey, after: Uint8Array | null): SqlScript<readonly Row[]> {
  const first = after ?? new Uint8Array();
  const sizes = yield* all(BLOB_SIZES, key, first);
  let bytes = 0;
  const fitting = sizes.filter((row, i) => {
    bytes += row.int("size");
    return i === 0 || bytes <= BYTES_IN_A_PAGE;
  });
  const last = fitting.at(-1);
  return last === undefined ? [] : yield* all(BLOBS, key, first, last.bytes("blob_hash"));
}

/** The blobs of ended runs; those whose runs ended first come first. */
const COLLECTABLE = `
  SELECT run_key, blob_hash, size, updated_at FROM runs JOIN blobs USING (run_key)
   WHERE status IN ('succeeded', 'failed', 'cancelled') ORDER BY updated_at, blob_hash, run_key`;

function* collectable() {
  const rows = yield* all(COLLECTABLE);
  return rows.map((row) => ({
    key: { run_key: row.value("run_key") as RunKey, blob_hash: row.bytes("blob_hash") },
    size: row.int("size"),
    endedAt: row.int("updated_at"),
  }));
}

export function* collectBlobs(tx: Transaction, policy: BlobRetention): SqlScript<BlobCollection> {
  let deleted = blobsToDelete(yield* collectable(), tx.now, policy);
  if (policy.dryRun !== true) {
    // A run that was claimed meanwhile keeps its blobs.
    const runs = [...new Set(deleted.map(({ key }) => key.run_key))];
    if (yield* tx.lockRuns(runs)) {
      const left = new Set((yield* collectable()).map(({ key }) => key.run_key));
      deleted = deleted.filter(({ key }) => left.has(key.run_key));
    }
    for (const { key } of deleted) tx.write({ kind: "remove", table: "blobs", key });
  }
  return { blobs: deleted.length, bytes: deleted.reduce((sum, { size }) => sum + size, 0) };
}
