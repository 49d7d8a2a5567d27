import { blobReferenceOf } from "../../core/blob-reference.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { toolCallId } from "../../core/step-path.ts";
import { waitId } from "../../core/wait.ts";
import type { Verification, VerificationProblem } from "../store.ts";
import { artifactRow, storedArtifactDigest } from "./artifact-intents.ts";
import type { Database } from "./database.ts";
import { digestOf } from "./digest.ts";
import { chainHash, NO_EVENT_HASH, parseJson, requireRunNo } from "./run-row.ts";
import { storedReceiptDigest, storedToolCallDigest, storedTryDigest } from "./tool-call-rows.ts";
import { TURNS_OF_STEP } from "./turn-number.ts";
import { list, readSessionRows, SessionHistory } from "./verify-session.ts";
import { storedAnswerDigest } from "./wait-readers.ts";

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
  const rows = readRows(database, runNo, runId);
  for (const [row, digest] of told.digests) {
    const stored = rows.get(row);
    if (stored === undefined) found(row, "is gone: an event tells of it");
    else if (stored !== digest) found(row, "is not what was written: its event tells of something else");
  }
  for (const row of rows.keys())
    if (!told.digests.has(row) && !told.isOld) found(row, "was never written by Pawl: no event tells of it");
  const blobs = checkBlobs(database, runNo, runId, found);
  const receipts = [...rows.keys()].filter((row) => row.startsWith("receipt ")).length;
  return { runId, events: told.events, receipts, blobs, problems };
}

type Told = {
  readonly events: number;
  /** Row → the digest that its event carries. */
  readonly digests: ReadonlyMap<string, string>;
  /** The run began before events carried digests: then not every row has one. */
  readonly isOld: boolean;
};

type Found = (row: string, what: string) => void;

function readChain(database: Database, runNo: number, found: Found): Told {
  const digests = new Map<string, string>();
  const run = database.get("SELECT run_id, event_seq, event_hash FROM runs WHERE run_no = ?", runNo);
  if (run === null) throw new Error(`Run ${runNo} is gone.`);
  const session = new SessionHistory(run.text("run_id"));
  let [expected, previous, isOld]: [number, Uint8Array, boolean] = [1, NO_EVENT_HASH, false];
  for (const event of database.iterate("SELECT * FROM events WHERE run_no = ? ORDER BY seq", runNo)) {
    const [seq, type, text] = [event.int("seq"), event.text("type"), event.text("data")];
    for (; expected < seq; expected++) found(`event ${expected}`, "is missing");
    const hash = chainHash(previous, seq, event.int("created_at"), type, text);
    if (!hash.equals(event.bytes("hash")))
      found(`event ${seq}`, "was changed, moved, or follows one that was");
    // Go on from what is stored: one broken event is named once, and not every one after it.
    previous = event.bytes("hash");
    expected = seq + 1;
    const data = parse(text);
    if (type === "run.created" && data.input === undefined) isOld = true;
    collectDigests(run.text("run_id"), type, data, digests);
    session.take(seq, type, data);
  }
  const last = run.int("event_seq");
  for (; expected <= last; expected++) found(`event ${expected}`, "is missing");
  if (expected > last + 1) found(`event ${expected - 1}`, "was never written by Pawl");
  else if (!Buffer.from(run.bytes("event_hash")).equals(previous))
    found(`event ${last}`, "is not the one that the run ended its log with");
  for (const [row, digest] of session.digests()) digests.set(row, digest);
  return { events: last, digests, isOld };
}

function parse(text: string): JsonObject {
  try {
    const data = parseJson(text);
    return isJsonObject(data) ? data : {};
  } catch {
    return {};
  }
}

function collectDigests(runId: string, type: string, data: JsonObject, digests: Map<string, string>): void {
  const { step } = data;
  // A new line of history tells of the turn that it left.
  const turn = type === "lineage.begun" ? data.openTurn : data.turn;
  const tell = (row: string, digest: Json | undefined) => {
    if (typeof digest === "string") digests.set(row, digest);
  };
  if (type === "run.created") tell("run input", data.input);
  if (type === "run.created") tell("run spec", data.spec);
  if (type === "run.forked")
    for (const [row, digest] of list(data.rows).map(list)) if (typeof row === "string") tell(row, digest);
  if (type === "artifact.kept" && typeof data.name === "string") tell(artifactRow(data.name), data.artifact);
  if (type === "run.succeeded") tell("run output", data.output);
  if (type === "wait.answered" || type === "wait.approved") tell(waitRow(runId, data.wait), data.answer);
  for (const doubt of [...list(data.inDoubt), ...list(data.notSent)]) {
    if (!isJsonObject(doubt) || typeof doubt.step !== "string") continue;
    const id = toolCallId(runId, doubt.step, Number(doubt.turn), Number(doubt.call));
    tell(tryRow(id, Number(doubt.attempt)), doubt.try);
  }
  if (typeof step !== "string") return;
  if (type === "step.finished") tell(`step ${step}`, data.output);
  if (typeof turn !== "number") return;
  const call = (index: Json | undefined) => toolCallId(runId, step, turn, Number(index));
  if (type === "turn.dropped") {
    digests.delete(`turn ${runId}/${step}#${turn}`);
    for (let i = 1; i <= Number(data.calls); i++) digests.delete(`call ${call(i)}`);
    for (const [wait, digest] of list(data.waits).map(list)) tell(waitRow(runId, wait), digest);
    return;
  }
  tell(`turn ${runId}/${step}#${turn}`, data.response);
  tell(`follow-up ${runId}/${step}#${turn}`, data.followUp);
  if (type === "calls.started" || type === "calls.prepared")
    tell(`call ${call(list(data.calls)[0])}`, data.digest);
  else for (const [i, digest] of list(data.calls).entries()) tell(`call ${call(i + 1)}`, digest);
  if (data.call !== undefined) tell(`receipt ${call(data.call)}`, data.digest);
  if (data.try !== undefined) tell(tryRow(call(data.call), Number(data.attempt)), data.try);
  for (const receipt of list(data.receipts)) {
    const [index, digest] = list(receipt);
    tell(`receipt ${call(index)}`, digest);
  }
}

function tryRow(id: string, attempt: number): string {
  return `try ${attempt} of ${id}`;
}

function waitRow(runId: string, index: Json | undefined): string {
  return `wait ${waitId(runId, Number(index))}`;
}

/** Every row that an event has to tell of, and its digest as it stands. */
export function readRows(database: Database, runNo: number, runId: string): Map<string, string> {
  const rows = new Map<string, string>();
  const input = database.get("SELECT input, spec FROM run_inputs WHERE run_no = ?", runNo);
  if (input !== null) rows.set("run input", digestOf(input.text("input")));
  const spec = input?.optionalText("spec") ?? null;
  if (spec !== null) rows.set("run spec", digestOf(spec));
  for (const row of database.iterate("SELECT * FROM artifacts WHERE run_no = ?", runNo))
    rows.set(artifactRow(row.text("artifact_name")), storedArtifactDigest(row));
  const output = database.get(
    "SELECT output, context FROM runs WHERE run_no = ? AND output IS NOT NULL",
    runNo,
  );
  if (output !== null)
    rows.set("run output", digestOf(output.text("output"), output.optionalText("context")));
  const steps = "SELECT step_path, output, context FROM run_steps WHERE run_no = ? AND status = 'succeeded'";
  for (const row of database.iterate(steps, runNo))
    rows.set(
      `step ${row.text("step_path")}`,
      digestOf(row.optionalText("output"), row.optionalText("context")),
    );
  const turns = `SELECT step_path, turns.turn_index, response, follow_up
                   FROM run_steps JOIN turns ON ${TURNS_OF_STEP} WHERE run_no = ?`;
  for (const row of database.iterate(turns, runNo)) {
    const id = `${runId}/${row.text("step_path")}#${row.int("turn_index")}`;
    rows.set(`turn ${id}`, digestOf(row.text("response")));
    const followUp = row.optionalText("follow_up");
    if (followUp !== null) rows.set(`follow-up ${id}`, digestOf(followUp));
  }
  readCalls(database, runNo, runId, rows);
  const tries = `SELECT tries.*, step_path, turn_index, call_index FROM tool_call_tries AS tries
                   JOIN tool_calls USING (call_no) JOIN run_steps USING (step_no) WHERE tries.run_no = ?`;
  for (const row of database.iterate(tries, runNo)) {
    const id = toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
    rows.set(tryRow(id, row.int("attempt")), storedTryDigest(row));
  }
  readSessionRows(database, runNo, runId, rows);
  const waits = "SELECT * FROM waits WHERE run_no = ? AND (answer IS NOT NULL OR answered_by IS NOT NULL)";
  for (const row of database.iterate(waits, runNo))
    rows.set(waitRow(runId, row.int("wait_index")), storedAnswerDigest(row));
  return rows;
}

const CALLS = [
  `SELECT step_path, tool_calls.* FROM run_steps JOIN turns ON ${TURNS_OF_STEP}
     JOIN tool_calls ON call_no BETWEEN first_call_no AND first_call_no + calls - 1 WHERE run_no = ?`,
  `SELECT step_path, tool_calls.* FROM run_steps JOIN tool_calls USING (step_no)
    WHERE run_no = ? AND turn_index = 0`,
] as const;

function readCalls(database: Database, runNo: number, runId: string, rows: Map<string, string>): void {
  for (const query of CALLS) {
    for (const call of database.all(query, runNo)) {
      const id = toolCallId(runId, call.text("step_path"), call.int("turn_index"), call.int("call_index"));
      rows.set(`call ${id}`, storedToolCallDigest(call));
      const receipt = database.get("SELECT * FROM receipts WHERE call_no = ?", call.int("call_no"));
      if (receipt !== null) rows.set(`receipt ${id}`, storedReceiptDigest(receipt));
    }
  }
}

/** A blob is named by the hash of its bytes. */
function checkBlobs(database: Database, runNo: number, runId: string, found: Found): number {
  const kept = new Set<string>();
  for (const row of database.iterate(
    "SELECT blob_hash, bytes FROM blob_references JOIN blobs USING (blob_hash) WHERE run_no = ?",
    runNo,
  )) {
    const blobId = row.hex("blob_hash");
    kept.add(blobId);
    if (blobReferenceOf(row.bytes("bytes")).blobId !== blobId)
      found(`blob ${blobId}`, "does not hold what its name says");
  }
  for (const row of database.all("SELECT artifact_name, blob_hash FROM artifacts WHERE run_no = ?", runNo))
    if (!kept.has(row.hex("blob_hash")))
      found(
        `blob ${row.hex("blob_hash")}`,
        `is gone, collected or removed: artifact ${row.text("artifact_name")} refers to it`,
      );
  for (const query of CALLS)
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
