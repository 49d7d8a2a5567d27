import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import type { ArtifactRecord, Fence, NewArtifact } from "../../store.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { putRow, type Transaction } from "../transaction.ts";
import { putBlob, readBlob } from "./blob-rows.ts";
import { fencedRun, recordEvent, requireRunKey, stepHead } from "./run-row.ts";

export function* keepArtifact(
  tx: Transaction,
  fence: Fence,
  { stepKey, name, bytes }: NewArtifact,
): SqlScript<ArtifactRecord> {
  assertNameSize("artifact's name", name);
  const run = yield* fencedRun(tx, fence);
  const step = stepKey === null ? "" : (yield* stepHead(run, stepKey)).path;
  const { blobId: hash, size } = blobReferenceOf(bytes);
  putBlob(tx, run, { blobId: hash, bytes });
  putRow(tx, run, "artifacts", {
    artifact_name: name,
    step_no: stepKey,
    created_at: tx.now,
    size,
    blob_hash: Buffer.from(hash, "hex"),
  });
  recordEvent(tx, run, "artifact.kept", { step, name, size, hash });
  return { name, size, hash, stepPath: step, at: tx.now };
}

export function* listArtifacts(runId: string): SqlScript<ArtifactRecord[]> {
  const rows = yield* all(
    `SELECT artifacts.*, step_path FROM artifacts LEFT JOIN run_steps USING (run_key, step_no)
      WHERE run_key = ? ORDER BY artifact_name`,
    yield* requireRunKey(runId),
  );
  return rows.map((row) => ({
    name: row.text("artifact_name"),
    size: row.int("size"),
    hash: row.hex("blob_hash"),
    stepPath: row.optionalText("step_path") ?? "",
    at: row.int("created_at"),
  }));
}

export function* readArtifact(runId: string, name: string): SqlScript<Uint8Array | null> {
  const key = yield* requireRunKey(runId);
  const hash = yield* findArtifactHash(key, name);
  return hash === null ? null : yield* readBlob(key, hash);
}

/** The SHA-256 of an artifact's bytes, in hex; null if the run has no such artifact. */
export function* findArtifactHash(key: RunKey, name: string): SqlScript<string | null> {
  const row = yield* get(
    "SELECT blob_hash FROM artifacts WHERE run_key = ? AND artifact_name = ?",
    key,
    name,
  );
  return row === null ? null : row.hex("blob_hash");
}
