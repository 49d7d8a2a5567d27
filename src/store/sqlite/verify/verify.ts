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
 * Looks whether what is stored of a run is what was written. The events are a chain of hashes, so one that was changed,
 * removed or moved breaks it where it stands; and they carry the digests of the rows they tell of, so a row that was
 * changed, removed or slipped in does not fit its event. It guards against a slip of the hand and a bad disk: who can
 * write the file can make the whole chain anew.
 */
export function verify(database: Database, runId: string): Verification {
  const runNo = requireRunNo(database, runId);
  const problems: VerificationProblem[] = [];
  const found = (row: string, what: string) => problems.push({ row, what });
  const told = readChain(database, runNo, found);
  const [first, newer] = [readFirstRows(database, runNo, runId), readNewerRows(database, runNo, runId)];
  for (const [row, digest] of told.digests) {
    const stored = first.get(row) ?? newer.get(row);
    if (stored === undefined) found(row, GONE);
    else if (stored !== digest) found(row, CHANGED);
  }
  for (const row of first.keys())
    if (!told.digests.has(row) && told.format !== "no digests") found(row, UNCOVERED);
  for (const row of newer.keys())
    if (!told.digests.has(row) && told.format === "every row") found(row, UNCOVERED);
  const blobs = checkBlobs(database, runNo, runId, found);
  const receipts = [...first.keys()].filter((row) => row.startsWith("receipt ")).length;
  return { runId, events: told.events, receipts, blobs, problems };
}

export const GONE = "is gone: an event tells of it";
export const CHANGED = "is not what was written: its event tells of something else";
export const UNCOVERED = "was never written by Pawl: no event tells of it";

/**
 * What the events of a run tell of. It began before they carried digests; or when they did of what was written for good; or
 * they tell of every row.
 */
export type DigestFormat = "no digests" | "what is final" | "every row";

/** By its first event, which says what the run began with. */
export function digestFormat(type: string, text: string): DigestFormat {
  const data = factsOf(text);
  if (data.quota !== undefined) return "every row";
  return type === "run.created" && data.input === undefined ? "no digests" : "what is final";
}

type Told = {
  readonly events: number;
  /** Row → the digest that its event carries. */
  readonly digests: ReadonlyMap<string, string>;
  readonly format: DigestFormat;
};

type Found = (row: string, what: string) => void;

/** So many are named one by one: a forged number names millions. */
const MOST_MISSING = 100;

function findMissing(from: number, to: number, found: Found): void {
  const last = Math.min(to, from + MOST_MISSING);
  for (let seq = from; seq < last; seq++) found(`event ${seq}`, "is missing");
  if (last < to) found(`event ${last}`, `is missing, and so are all up to ${to - 1}`);
}

function readChain(database: Database, runNo: number, found: Found): Told {
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
    findMissing(expected, seq, found);
    lastAt = event.int("created_at");
    const hash = chainHash(previous, seq, lastAt, type, text);
    isWhole = hash.equals(event.bytes("hash"));
    if (!isWhole) found(`event ${seq}`, "was changed, moved, or follows one that was");
    // Go on from what is stored: one broken event is named once, and not every one after it.
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
  findMissing(expected, last + 1, found);
  expected = Math.max(expected, last + 1);
  if (expected > last + 1) found(`event ${expected - 1}`, "was never written by Pawl");
  else if (!Buffer.from(run.bytes("event_hash")).equals(previous))
    found(`event ${last}`, "is not the one that the run ended its log with");
  else if (isWhole && lastAt !== run.int("updated_at"))
    found("run", "was not changed last when its last event says");
  for (const [row, digest] of session.digests()) digests.set(row, digest);
  return { events: last, digests, format };
}

/** A blob is named by the hash of its bytes. */
function checkBlobs(database: Database, runNo: number, runId: string, found: Found): number {
  const kept = new Set<string>();
  for (const row of database.iterate(
    "SELECT blob_hash, size, bytes FROM blob_references JOIN blobs USING (blob_hash) WHERE run_no = ?",
    runNo,
  )) {
    const blobId = row.hex("blob_hash");
    kept.add(blobId);
    const held = blobReferenceOf(row.bytes("bytes"));
    if (held.blobId !== blobId || held.size !== row.int("size"))
      found(`blob ${blobId}`, "does not hold what its name says");
  }
  for (const row of database.all("SELECT artifact_name, blob_hash FROM artifacts WHERE run_no = ?", runNo))
    if (!kept.has(row.hex("blob_hash")))
      found(
        `blob ${row.hex("blob_hash")}`,
        `is gone, collected or removed: artifact ${row.text("artifact_name")} refers to it`,
      );
  for (const query of CALLS_OF_RUN)
    for (const row of database.all(
      `SELECT c.*, blob_hash FROM (${query}) AS c JOIN receipts USING (call_no) WHERE blob_hash IS NOT NULL`,
      runNo,
    )) {
      const blobId = row.hex("blob_hash");
      const id = toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
      if (!kept.has(blobId))
        found(`blob ${blobId}`, `is gone, collected or removed: the receipt of ${id} refers to it`);
    }
  return kept.size;
}
