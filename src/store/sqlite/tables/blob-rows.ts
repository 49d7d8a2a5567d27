import { blobReferenceOf } from "../../../core/blob-reference.ts";
import type { BlobCollection, BlobRetention } from "../../store.ts";
import type { Database } from "../database.ts";

/** Stores a blob once, however many results are equal, and allows the run to read it. */
export function putBlob(
  database: Database,
  runNo: number,
  now: number,
  blob: { blobId: string; bytes: Uint8Array },
): void {
  const { blobId, size } = blobReferenceOf(blob.bytes);
  if (blobId !== blob.blobId)
    throw new Error(`Blob ${blob.blobId} does not hold what its id says (${blobId}).`);
  const hash = Buffer.from(blobId, "hex");
  database.run(
    "INSERT OR IGNORE INTO blobs (blob_hash, created_at, size, bytes) VALUES (?, ?, ?, ?)",
    hash,
    now,
    size,
    blob.bytes,
  );
  database.run("INSERT OR IGNORE INTO blob_references VALUES (?, ?)", hash, runNo);
}

export function readBlob(database: Database, runNo: number, blobId: string): Uint8Array | null {
  if (!/^[0-9a-f]{64}$/.test(blobId)) return null;
  const row = database.get(
    "SELECT bytes FROM blobs JOIN blob_references USING (blob_hash) WHERE blob_hash = ? AND run_no = ?",
    Buffer.from(blobId, "hex"),
    runNo,
  );
  return row === null ? null : row.bytes("bytes");
}

/**
 * Blobs that no live run refers to; those whose runs ended first come first. The deleting transaction selects with
 * the same statement, so a run that refers to one in the meantime keeps it.
 */
const COLLECTABLE = `
  SELECT blob_hash, size, max(coalesce(runs.updated_at, blobs.created_at)) AS ended_at
    FROM blobs LEFT JOIN blob_references USING (blob_hash) LEFT JOIN runs USING (run_no)
   GROUP BY blob_hash
  HAVING coalesce(sum(runs.status IN ('queued', 'running', 'waiting')), 0) = 0
   ORDER BY ended_at, blob_hash`;

export function collectBlobs(database: Database, now: number, policy: BlobRetention): BlobCollection {
  const candidates = database.all(COLLECTABLE);
  let total = candidates.reduce((sum, row) => sum + row.int("size"), 0);
  let blobs = 0;
  let bytes = 0;
  for (const row of candidates) {
    const expired = row.int("ended_at") < now - policy.olderThanMs;
    if (!expired && total <= policy.maxBytes) break;
    const size = row.int("size");
    if (policy.dryRun !== true) database.run("DELETE FROM blobs WHERE blob_hash = ?", row.bytes("blob_hash"));
    total -= size;
    bytes += size;
    blobs += 1;
  }
  return { blobs, bytes };
}
