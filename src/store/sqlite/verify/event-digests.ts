import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import { toolCallId } from "../../../core/step-path.ts";
import { waitId } from "../../../core/wait.ts";
import { artifactRow } from "../tables/artifact-rows.ts";
import { parseJson, quotaDigest } from "../tables/run-row.ts";

/** What an event tells of rows: their digests by name, and null for those that are no more. */
export type RowDigests = ReadonlyMap<string, string | null>;

/** The facts of an event, whatever somebody made of them. */
export function factsOf(text: string): JsonObject {
  try {
    const data = parseJson(text);
    return isJsonObject(data) ? data : {};
  } catch {
    return {};
  }
}

export function rowDigests(runId: string, type: string, data: JsonObject): RowDigests {
  const tellings = new Map<string, string | null>();
  const tell = (row: string, digest: Json | undefined) => {
    if (typeof digest === "string" || digest === null) tellings.set(row, digest);
  };
  const tellOne = (row: string, digest: Json | undefined) => {
    if (typeof digest === "string") tellings.set(row, digest);
  };
  addRunDigests(runId, type, data, tellOne);
  addTurnDigests(runId, type, data, tell);
  for (const [row, digest] of [...list(data.rows), ...list(data.ofRun)].map(list))
    if (typeof row === "string") tell(row, digest);
  if (Array.isArray(data.quota)) tell(CHARGES_ROW, quotaDigest(list(data.quota).map(Number)));
  return tellings;
}

/** What is charged and reserved: the event has the figures themselves. */
export const CHARGES_ROW = "charges of the run";

/** No response has so many: a forged number would be counted to for ever. */
const MOST_CALLS = 100_000;

type Tell = (row: string, digest: Json | undefined) => void;

function addRunDigests(runId: string, type: string, data: JsonObject, tell: Tell): void {
  if (type === "run.created") tell("run input", data.input);
  if (type === "run.created") tell("run spec", data.spec);
  if (type === "artifact.kept" && typeof data.name === "string") tell(artifactRow(data.name), data.artifact);
  if (type === "run.succeeded") tell("run output", data.output);
  if (type === "wait.answered" || type === "wait.approved") tell(waitRow(runId, data.wait), data.answer);
  for (const doubt of [...list(data.inDoubt), ...list(data.notSent)]) {
    if (!isJsonObject(doubt) || typeof doubt.step !== "string") continue;
    const id = toolCallId(runId, doubt.step, Number(doubt.turn), Number(doubt.call));
    tell(callAttemptRow(id, Number(doubt.attempt)), doubt.try);
  }
}

function addTurnDigests(runId: string, type: string, data: JsonObject, tellAny: Tell): void {
  const { step } = data;
  // A new line of history tells of the turn that it left.
  const turn = type === "lineage.begun" ? data.openTurn : data.turn;
  const tell = (row: string, digest: Json | undefined) => {
    if (typeof digest === "string") tellAny(row, digest);
  };
  if (typeof step !== "string") return;
  if (type === "step.finished") tell(`step ${step}`, data.output);
  if (typeof turn !== "number") return;
  const call = (index: Json | undefined) => toolCallId(runId, step, turn, Number(index));
  if (type === "turn.dropped") {
    tellAny(`turn ${runId}/${step}#${turn}`, null);
    for (let i = 1; i <= Math.min(Number(data.calls), MOST_CALLS); i++) tellAny(`call ${call(i)}`, null);
    for (const [wait, digest] of list(data.waits).map(list)) tell(waitRow(runId, wait), digest);
    return;
  }
  tell(`turn ${runId}/${step}#${turn}`, data.response);
  tell(`follow-up ${runId}/${step}#${turn}`, data.followUp);
  if (type === "calls.started" || type === "calls.prepared")
    tell(`call ${call(list(data.calls)[0])}`, data.digest);
  else for (const [i, digest] of list(data.calls).entries()) tell(`call ${call(i + 1)}`, digest);
  if (data.call !== undefined) tell(`receipt ${call(data.call)}`, data.digest);
  if (data.try !== undefined) tell(callAttemptRow(call(data.call), Number(data.attempt)), data.try);
  for (const receipt of list(data.receipts)) {
    const [index, digest] = list(receipt);
    tell(`receipt ${call(index)}`, digest);
  }
}

/** A list in an event, whatever somebody made of it. */
export function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

export function callAttemptRow(id: string, attempt: number): string {
  return `try ${attempt} of ${id}`;
}

export function waitRow(runId: string, index: Json | undefined): string {
  return `wait ${waitId(runId, Number(index))}`;
}
