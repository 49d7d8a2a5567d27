import type { Json, JsonObject } from "../../../core/json.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { Database, Row } from "../database.ts";
import { digestOf } from "../tables/digest.ts";
import { storedCheckpointDigest } from "../tables/session-rows.ts";
import { list } from "./event-digests.ts";

type CoveredCheckpoint = {
  readonly digest: string;
  readonly seq: number;
  readonly at: number;
  readonly isSuperseded: boolean;
};

/**
 * The session of a run according to its events: the content of its slices, the calls whose events it includes, and
 * the checkpoints it can be rolled back to. Replays the changes in order.
 */
export class SessionHistory {
  readonly #runId: string;
  readonly #digests = new Map<string, string>();
  readonly #applied = new Map<string, { readonly seq: number; readonly isForgotten: boolean }>();
  readonly #checkpoints = new Map<number, CoveredCheckpoint>();

  constructor(runId: string) {
    this.#runId = runId;
  }

  take(seq: number, at: number, type: string, data: JsonObject): void {
    if (type === "lineage.begun") this.#rollBack(data);
    // A fork records the rows it was copied with in its first event, its lineages among them.
    if (type === "run.forked")
      for (const [row, known] of list(data.rows).map(list))
        if (typeof row === "string" && typeof known === "string" && row.startsWith("lineage "))
          this.#digests.set(row, known);
    for (const change of list(data.slices)) this.#change(change);
    for (const id of list(data.applied)) if (typeof id === "string") this.#apply(id, seq);
    const [checkpoint, digest] = list(data.checkpoint);
    if (typeof digest !== "string") return;
    this.#checkpoints.set(Number(checkpoint), { digest, seq, at, isSuperseded: false });
  }

  /** Row → its digest according to the events. */
  digests(): ReadonlyMap<string, string> {
    const all = new Map(this.#digests);
    for (const [id, { seq, isForgotten }] of this.#applied)
      all.set(appliedRow(id), digestOf(seq, Number(isForgotten)));
    for (const [checkpoint, { digest, seq, at, isSuperseded }] of this.#checkpoints)
      all.set(checkpointRow(this.#runId, checkpoint), digestOf(digest, seq, at, Number(isSuperseded)));
    return all;
  }

  #change(change: Json): void {
    const [name, length, items, own] = list(change);
    if (typeof name !== "string" || typeof length !== "number") return;
    if (length === 0) this.#digests.delete(sliceRow(name));
    else if (typeof own === "string") this.#digests.set(sliceRow(name), own);
    for (const item of list(items)) {
      const [index, digest] = list(item);
      if (typeof digest === "string") this.#digests.set(itemRow(name, Number(index)), digest);
    }
    for (let i = length; this.#digests.delete(itemRow(name, i)); i++);
  }

  #apply(id: string, seq: number): void {
    if (this.#applied.get(id)?.isForgotten !== false) this.#applied.set(id, { seq, isForgotten: false });
  }

  #rollBack({ step, lineage, from, digest }: JsonObject): void {
    if (typeof digest === "string" && typeof step === "string")
      this.#digests.set(lineageRow(this.#runId, step, Number(lineage)), digest);
    const base = typeof from === "number" ? from : 0;
    const since = this.#checkpoints.get(base)?.seq ?? 0;
    for (const [id, { seq }] of this.#applied)
      if (seq > since) this.#applied.set(id, { seq, isForgotten: true });
    for (const [number, checkpoint] of this.#checkpoints)
      if (number > base) this.#checkpoints.set(number, { ...checkpoint, isSuperseded: true });
  }
}

/** Row → its current digest. */
export function readSessionRows(
  database: Database,
  runNo: number,
  runId: string,
  rows: Map<string, string>,
): void {
  for (const row of database.iterate("SELECT * FROM slices WHERE run_no = ?", runNo))
    rows.set(sliceRow(row.text("slice_name")), digestOf(row.text("kind"), row.int("version")));
  for (const row of database.iterate("SELECT * FROM slice_items WHERE run_no = ?", runNo))
    rows.set(itemRow(row.text("slice_name"), row.int("item_index")), digestOf(row.text("value")));
  for (const row of database.iterate("SELECT * FROM checkpoints WHERE run_no = ?", runNo)) {
    const name = checkpointRow(runId, row.int("checkpoint_index"));
    rows.set(
      name,
      digestOf(checkpointDigest(row), row.int("event_seq"), row.int("created_at"), row.int("superseded")),
    );
  }
  const applied = `SELECT step_path, turn_index, call_index, event_seq, forgotten FROM applied_calls
                     JOIN tool_calls USING (call_no) JOIN run_steps USING (step_no) WHERE applied_calls.run_no = ?`;
  for (const row of database.iterate(applied, runNo)) {
    const id = toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
    rows.set(appliedRow(id), digestOf(row.int("event_seq"), row.int("forgotten")));
  }
  const lineages =
    "SELECT lineages.*, step_path FROM run_steps JOIN lineages USING (step_no) WHERE run_no = ?";
  for (const row of database.iterate(lineages, runNo))
    rows.set(lineageRow(runId, row.text("step_path"), row.int("lineage")), storedLineageDigest(row));
}

function storedLineageDigest(row: Row): string {
  return digestOf(
    row.int("first_turn"),
    row.int("base_turn"),
    row.optionalInt("open_turn"),
    row.optionalInt("checkpoint_index"),
  );
}

/** A snapshot that cannot even be unpacked is not what was written. */
function checkpointDigest(row: Row): string {
  try {
    return storedCheckpointDigest(row);
  } catch {
    return "unreadable";
  }
}

function sliceRow(name: string): string {
  return `slice ${name}`;
}

function itemRow(name: string, index: number): string {
  return `slice ${name}[${index}]`;
}

function checkpointRow(runId: string, checkpoint: number): string {
  return `checkpoint ${runId}~${checkpoint}`;
}

function appliedRow(id: string): string {
  return `events of ${id} in the session`;
}

function lineageRow(runId: string, step: string, lineage: number): string {
  return `lineage ${runId}/${step}~${lineage}`;
}
