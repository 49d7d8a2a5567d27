import { blobReferenceOf } from "../../../core/blob-reference.ts";
import type { ArtifactRecord, Fence, NewArtifact } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import { putBlob, readBlob } from "./blob-rows.ts";
import { digestOf } from "./digest.ts";
import { fencedRun, recordEvent, requireRunNo, stepHead } from "./run-row.ts";

export function keepArtifact(
  database: Database,
  now: number,
  fence: Fence,
  { stepKey, name, bytes }: NewArtifact,
): ArtifactRecord {
  const run = fencedRun(database, fence);
  const step = stepKey === null ? "" : stepHead(database, run, stepKey).path;
  const { blobId: hash, size } = blobReferenceOf(bytes);
  putBlob(database, run.runNo, now, { blobId: hash, bytes });
  database.run(
    `INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
        SET step_no = excluded.step_no, created_at = excluded.created_at, size = excluded.size,
            blob_hash = excluded.blob_hash`,
    run.runNo,
    name,
    stepKey,
    now,
    size,
    Buffer.from(hash, "hex"),
  );
  const artifact = digestOf(hash, size, stepKey, now);
  recordEvent(database, run, now, "artifact.kept", { step, name, size, hash, artifact });
  return { name, size, hash, stepPath: step, at: now };
}

export function listArtifacts(database: Database, runId: string): ArtifactRecord[] {
  return database
    .all(
      `SELECT artifacts.*, step_path FROM artifacts LEFT JOIN run_steps USING (step_no)
        WHERE artifacts.run_no = ? ORDER BY artifact_name`,
      requireRunNo(database, runId),
    )
    .map((row) => ({
      name: row.text("artifact_name"),
      size: row.int("size"),
      hash: row.hex("blob_hash"),
      stepPath: row.optionalText("step_path") ?? "",
      at: row.int("created_at"),
    }));
}

export function readArtifact(database: Database, runId: string, name: string): Uint8Array | null {
  const runNo = requireRunNo(database, runId);
  const row = database.get(
    "SELECT blob_hash FROM artifacts WHERE run_no = ? AND artifact_name = ?",
    runNo,
    name,
  );
  return row === null ? null : readBlob(database, runNo, row.hex("blob_hash"));
}

/** The name of an artifact's row in events and in verification problems. */
export function artifactRow(name: string): string {
  return `artifact ${name}`;
}

export function storedArtifactDigest(row: Row): string {
  return digestOf(row.hex("blob_hash"), row.int("size"), row.optionalInt("step_no"), row.int("created_at"));
}
