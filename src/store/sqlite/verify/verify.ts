import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { Verification, VerificationProblem } from "../../store.ts";
import type { Database } from "../database.ts";
import { CALLS_OF_RUN } from "../tables/event-rows.ts";
import { chainHash, NO_EVENT_HASH, requireRunNo } from "../tables/run-row.ts";
import { factsOf, rowDigests } from "./event-digests.ts";
import { readFirstRows, readNewerRows } from "./stored-rows.ts";
import { SessionHistory } from "./verify-session.ts";

/**
 * Checks that the stored rows of a run are what was written. The events are a chain of hashes, so a changed, removed
 * or moved event breaks it; and they carry the digests of the rows they cover, so a changed, removed or added row
 * does not match its event. This detects accidents and bad disks. It is no defence against an attacker who can write
 * the file, and so can forge the whole chain.
 */
export function verify(database: Database, runId: string): Verification {
  const runNo = requireRunNo(database, runId);
  const problems: VerificationProblem[] = [];
  const report = (row: string, what: string) => problems.push({ row, what });
  const covered = readChain(database, runNo, report);
  const [first, newer] = [readFirstRows(database, runNo, runId), readNewerRows(database, runNo, runId)];
  for (const [row, digest] of covered.digests) {
    const stored = first.get(row) ?? newer.get(row);
    if (stored === undefined) report(row, GONE);
    else if (stored !== digest) report(row, CHANGED);
  }
  for (const row of first.keys())
    if (!covered.digests.has(row) && covered.format !== "no digests") report(row, UNCOVERED);
  for (const row of newer.keys())
    if (!covered.digests.has(row) && covered.format === "every row") report(row, UNCOVERED);
  const blobs = checkBlobs(database, runNo, runId, report);
  const receipts = [...first.keys()].filter((row) => row.startsWith("receipt ")).length;
  return { runId, events: covered.events, receipts, blobs, problems };
}

export const GONE = "is missing, but an event covers it";
export const CHANGED = "is not what was written: its digest differs from the one in its event";
export const UNCOVERED = "was not written by Pawl: no event covers it";

/**
 * Which rows the events of a run cover. Old runs began before events had digests; or when they covered only rows that
 * never change; newer ones cover every row.
 */
export type DigestFormat = "no digests" | "final rows" | "every row";

/** Determined by the first event of the run. */
export function digestFormat(type: string, text: string): DigestFormat {
  const data = factsOf(text);
  if (data.quota !== undefined) return "every row";
  return type === "run.created" && data.input === undefined ? "no digests" : "final rows";
}

type CoveredByEvents = {
  readonly events: number;
  /** Row → the digest in the newest event that covers it. */
  readonly digests: ReadonlyMap<string, string>;
  readonly format: DigestFormat;
};

type ReportProblem = (row: string, what: string) => void;

/** The most missing events to name one by one: a forged number would name millions. */
const MAX_LISTED_MISSING = 100;

function reportMissing(from: number, to: number, report: ReportProblem): void {
  const last = Math.min(to, from + MAX_LISTED_MISSING);
  for (let seq = from; seq < last; seq++) report(`event ${seq}`, "is missing");
  if (last < to) report(`event ${last}`, `is missing, and so are all up to ${to - 1}`);
}

function readChain(database: Database, runNo: number, report: ReportProblem): CoveredByEvents {
  const digests = new Map<string, string>();
  const run = database.get(
    "SELECT run_id, updated_at, event_seq, event_hash FROM runs WHERE run_no = ?",
    runNo,
  );
  if (run === null) throw new Error(`Run ${runNo} is gone.`);
  const runId = run.text("run_id");
  const session = new SessionHistory(runId);
  let [format, isWhole]: [DigestFormat, boolean] = ["every row", true];
  let [expected, previous, lastAt]: [number, Uint8Array, number | null] = [1, NO_EVENT_HASH, null];
  for (const event of database.iterate("SELECT * FROM events WHERE run_no = ? ORDER BY seq", runNo)) {
    const [seq, type, text] = [event.int("seq"), event.text("type"), event.text("data")];
    reportMissing(expected, seq, report);
    lastAt = event.int("created_at");
    const hash = chainHash(previous, seq, lastAt, type, text);
    isWhole = hash.equals(event.bytes("hash"));
    if (!isWhole) report(`event ${seq}`, "was changed, moved, or follows one that was");
    // Continue from the stored hash: one broken event is reported once, not with all that follow it.
    previous = event.bytes("hash");
    expected = seq + 1;
    if (seq === 1) format = digestFormat(type, text);
    const data = factsOf(text);
    for (const [row, digest] of rowDigests(runId, type, data))
      if (digest === null) digests.delete(row);
      else digests.set(row, digest);
    session.take(seq, lastAt, type, data);
  }
  const last = run.int("event_seq");
  reportMissing(expected, last + 1, report);
  expected = Math.max(expected, last + 1);
  if (expected > last + 1) report(`event ${expected - 1}`, "was not written by Pawl");
  else if (!Buffer.from(run.bytes("event_hash")).equals(previous))
    report(`event ${last}`, "is not the last event that the run recorded");
  else if (isWhole && lastAt !== run.int("updated_at"))
    report("run", "was last changed at another time than its last event");
  for (const [row, digest] of session.digests()) digests.set(row, digest);
  return { events: last, digests, format };
}

/** The id of a blob is the hash of its bytes. */
function checkBlobs(database: Database, runNo: number, runId: string, report: ReportProblem): number {
  const kept = new Set<string>();
  for (const row of database.iterate(
    "SELECT blob_hash, size, bytes FROM blob_references JOIN blobs USING (blob_hash) WHERE run_no = ?",
    runNo,
  )) {
    const blobId = row.hex("blob_hash");
    kept.add(blobId);
    const held = blobReferenceOf(row.bytes("bytes"));
    if (held.blobId !== blobId || held.size !== row.int("size"))
      report(`blob ${blobId}`, "does not match its hash");
  }
  for (const row of database.all("SELECT artifact_name, blob_hash FROM artifacts WHERE run_no = ?", runNo))
    if (!kept.has(row.hex("blob_hash")))
      report(
        `blob ${row.hex("blob_hash")}`,
        `is missing, collected or removed: artifact ${row.text("artifact_name")} refers to it`,
      );
  for (const query of CALLS_OF_RUN)
    for (const row of database.all(
      `SELECT c.*, blob_hash FROM (${query}) AS c JOIN receipts USING (call_no) WHERE blob_hash IS NOT NULL`,
      runNo,
    )) {
      const blobId = row.hex("blob_hash");
      const id = toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
      if (!kept.has(blobId))
        report(`blob ${blobId}`, `is missing, collected or removed: the receipt of ${id} refers to it`);
    }
  return kept.size;
}
