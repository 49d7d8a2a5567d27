import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { toolCallId } from "../core/step-path.ts";
import { visibleText } from "../core/visible-text.ts";
import { waitId } from "../core/wait.ts";
import type { StoreReader } from "../store/store.ts";
import { listIn, numberIn, numbersIn, textIn } from "./event-facts.ts";
import { isoTime } from "./figures.ts";
import { RecordLookup } from "./record-lookup.ts";
import { type Incident, IncidentReader } from "./run-incidents.ts";
import { type RunOutline, readRunOutline } from "./run-outline.ts";
import { fileIn, fileText } from "./sent-file.ts";
import { type TextPieces, wholeText } from "./text-pieces.ts";

/** Fits the usual event types; a longer one shifts its line. */
const TYPE_WIDTH = 14;

/**
 * The run's log, one line per event: the time, the type, and its facts as `name=value`, with the ids of its calls. Digests
 * are left out: they prove what is stored, and mean nothing to a reader.
 */
export async function renderLog(reader: StoreReader, runId: string): Promise<string> {
  return wholeText(logOf(reader, await readRunOutline(reader, runId)));
}

export async function* logOf(reader: StoreReader, outline: RunOutline): TextPieces {
  const { run, lastSeq } = outline;
  const incidents = new IncidentReader(reader, outline, new RecordLookup(reader, run.runId));
  for await (const incident of incidents.read({ firstSeq: 1, lastSeq }))
    yield `${logLine(run.runId, incident)}\n`;
}

function logLine(runId: string, incident: Incident): string {
  const { event, facts, step, turnIndex } = incident;
  const shownFields: JsonObject = {
    seq: event.seq,
    // An event of a turn does not always name its step: it is the current one.
    ...(turnIndex === null || step === null ? {} : { step: step.path }),
    ...shownFacts(runId, facts),
    ...toolsOf(incident),
  };
  const fields = Object.entries(shownFields).flatMap(([name, value]) => field(name, value));
  return [isoTime(event.at), event.type.padEnd(TYPE_WIDTH), fields.join(" ")].join("  ").trimEnd();
}

/** Fields that only `verify` or other parts of Pawl use. */
const HIDDEN = ["response", "new", "copied", "artifacts", "hash", "rows", "head", "fingerprint"];

function shownFacts(runId: string, facts: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) => {
      if (HIDDEN.includes(name)) return [];
      return [[name, shown(runId, name, value, facts)]];
    }),
  );
}

function shown(runId: string, name: string, value: Json, facts: JsonObject): Json {
  switch (name) {
    case "calls":
      return numbersIn(facts, name).join(",");
    case "receipts":
      return numbersIn(facts, name).join(",");
    case "slices":
      return listIn(facts, name).map(sliceName).join(",");
    case "applied":
      return listIn(facts, name).map(plainText).join(",");
    case "wait":
      return waitId(runId, numberIn(facts, name) ?? 0);
    case "waits":
      return numbersIn(facts, name)
        .map((index) => waitId(runId, index))
        .join(",");
    case "inDoubt":
      return listIn(facts, name)
        .map((item) => callIdIn(runId, item))
        .join(",");
    case "files":
      return listIn(facts, name).map(fileName).join(", ");
    case "chargedAsLost":
      return listIn(facts, name)
        .map((item) =>
          isJsonObject(item) ? `${textIn(item, "stepPath")}#${numberIn(item, "turnIndex")}` : "",
        )
        .join(",");
    default:
      return value;
  }
}

/** `words:3`: a slice, and how many values it has after the event. */
function sliceName(item: Json): string {
  const [name, length] = Array.isArray(item) ? (item as readonly Json[]) : [item];
  return `${plainText(name ?? null)}:${plainText(length ?? null)}`;
}

function fileName(item: Json): string {
  const file = fileIn(item);
  return file === null ? plainText(item) : fileText(file);
}

function plainText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function callIdIn(runId: string, item: Json): string {
  if (!isJsonObject(item)) return "";
  return toolCallId(
    runId,
    textIn(item, "step") ?? "",
    numberIn(item, "turn") ?? 0,
    numberIn(item, "call") ?? 0,
  );
}

/** Events have numbers; people look for names. */
function toolsOf({ wanted, started, ended, settled, response }: Incident): JsonObject {
  const calls = [
    ...wanted,
    ...started.map(({ call }) => call),
    ...(ended === null ? [] : [ended.call]),
    ...settled,
    ...(response?.calls ?? []),
  ];
  const unique = [...new Map(calls.map((call) => [call.toolCallId, call])).values()];
  if (unique.length === 0) return {};
  return {
    tool: unique.map(({ tool }) => tool).join(","),
    tool_call: unique.map((call) => call.toolCallId).join(","),
  };
}

/** `name=value`; amounts and other objects field by field; empty values are left out. */
function field(name: string, value: Json): readonly string[] {
  if (value === null || value === "") return [];
  if (isJsonObject(value))
    return Object.entries(value).flatMap(([inner, each]) => field(`${name}.${inner}`, each));
  return [`${name}=${valueText(value)}`];
}

function valueText(value: Exclude<Json, null | JsonObject>): string {
  if (typeof value !== "string") return visibleText(JSON.stringify(value));
  // JSON escapes, so that a quoted value can be parsed again.
  return /^[\p{L}\p{N}_.,:;/#@~+*%()[\]-]+$/u.test(value) ? value : visibleText(JSON.stringify(value));
}
