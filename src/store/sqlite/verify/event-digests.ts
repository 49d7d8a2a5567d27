import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import { toolCallId } from "../../../core/step-path.ts";
import { waitId } from "../../../core/wait.ts";
import { artifactRow } from "../tables/artifact-rows.ts";
import { parseJson, quotaDigest } from "../tables/run-row.ts";

/** The digests of the rows that an event covers, by name; null for removed rows. */
export type RowDigests = ReadonlyMap<string, string | null>;

/** The facts of an event, which may have been tampered with. */
export function factsOf(text: string): JsonObject {
  try {
    const data = parseJson(text);
    return isJsonObject(data) ? data : {};
  } catch {
    return {};
  }
}

export function rowDigests(runId: string, type: string, data: JsonObject): RowDigests {
  const digests = new Map<string, string | null>();
  const add = (row: string, digest: Json | undefined) => {
    if (typeof digest === "string" || digest === null) digests.set(row, digest);
  };
  const addExisting = (row: string, digest: Json | undefined) => {
    if (typeof digest === "string") digests.set(row, digest);
  };
  addRunDigests(runId, type, data, addExisting);
  addTurnDigests(runId, type, data, add);
  for (const [row, digest] of [...list(data.rows), ...list(data.ofRun)].map(list))
    if (typeof row === "string") add(row, digest);
  if (Array.isArray(data.quota)) add(CHARGES_ROW, quotaDigest(list(data.quota).map(Number)));
  return digests;
}

/** The amounts charged and reserved: the event has the figures themselves. */
export const CHARGES_ROW = "charges of the run";

/** No response has so many: a forged number would make the loop endless. */
const MOST_CALLS = 100_000;

type AddDigest = (row: string, digest: Json | undefined) => void;

function addRunDigests(runId: string, type: string, data: JsonObject, add: AddDigest): void {
  if (type === "run.created") add("run input", data.input);
  if (type === "run.created") add("run spec", data.spec);
  if (type === "artifact.kept" && typeof data.name === "string") add(artifactRow(data.name), data.artifact);
  if (type === "run.succeeded") add("run output", data.output);
  if (type === "wait.answered" || type === "wait.approved") add(waitRow(runId, data.wait), data.answer);
  for (const doubt of [...list(data.inDoubt), ...list(data.notSent)]) {
    if (!isJsonObject(doubt) || typeof doubt.step !== "string") continue;
    const id = toolCallId(runId, doubt.step, Number(doubt.turn), Number(doubt.call));
    add(callAttemptRow(id, Number(doubt.attempt)), doubt.try);
  }
}

function addTurnDigests(runId: string, type: string, data: JsonObject, addAny: AddDigest): void {
  const { step } = data;
  // The event of a new lineage covers the turn that it abandons.
  const turn = type === "lineage.begun" ? data.openTurn : data.turn;
  const add = (row: string, digest: Json | undefined) => {
    if (typeof digest === "string") addAny(row, digest);
  };
  if (typeof step !== "string") return;
  if (type === "step.finished") add(`step ${step}`, data.output);
  if (typeof turn !== "number") return;
  const call = (index: Json | undefined) => toolCallId(runId, step, turn, Number(index));
  if (type === "turn.dropped") {
    addAny(`turn ${runId}/${step}#${turn}`, null);
    for (let i = 1; i <= Math.min(Number(data.calls), MOST_CALLS); i++) addAny(`call ${call(i)}`, null);
    for (const [wait, digest] of list(data.waits).map(list)) add(waitRow(runId, wait), digest);
    return;
  }
  add(`turn ${runId}/${step}#${turn}`, data.response);
  add(`follow-up ${runId}/${step}#${turn}`, data.followUp);
  if (type === "calls.started" || type === "calls.prepared")
    add(`call ${call(list(data.calls)[0])}`, data.digest);
  else for (const [i, digest] of list(data.calls).entries()) add(`call ${call(i + 1)}`, digest);
  if (data.call !== undefined) add(`receipt ${call(data.call)}`, data.digest);
  if (data.try !== undefined) add(callAttemptRow(call(data.call), Number(data.attempt)), data.try);
  for (const receipt of list(data.receipts)) {
    const [index, digest] = list(receipt);
    add(`receipt ${call(index)}`, digest);
  }
}

/** A list in an event, which may have been tampered with. */
export function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

export function callAttemptRow(id: string, attempt: number): string {
  return `try ${attempt} of ${id}`;
}

export function waitRow(runId: string, index: Json | undefined): string {
  return `wait ${waitId(runId, Number(index))}`;
}
