import type { StoreReader } from "../store/store.ts";
import { logOf } from "./run-log.ts";
import { type RunOutline, readRunOutline } from "./run-outline.ts";
import { inChunks, jsonPieces, type TextPieces } from "./text-pieces.ts";
import { traceOf } from "./trace.ts";
import { transcriptOf } from "./transcript/transcript.ts";

type NamedText = readonly [name: string, text: TextPieces];

/** The telemetry files of a run, for people and trace viewers. Made from the store alone, so they can be made again. */
export async function telemetryOf(reader: StoreReader, runId: string): Promise<readonly NamedText[]> {
  return telemetryIn(reader, await readRunOutline(reader, runId));
}

export function telemetryIn(reader: StoreReader, outline: RunOutline): readonly NamedText[] {
  return [
    ["trace.json", documentText(traceOf(reader, outline))],
    ["transcript.md", inChunks(transcriptOf(reader, outline))],
    ["run.log", inChunks(logOf(reader, outline))],
  ];
}

/** The text of a JSON document, as in its file. */
export function documentText(document: object): TextPieces {
  return inChunks(jsonPieces(document, 1));
}
