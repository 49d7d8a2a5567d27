import type { StoreReader } from "../store/store.ts";
import { logOf } from "./run-log.ts";
import { type RunOutline, readRunOutline } from "./run-outline.ts";
import { inChunks, jsonPieces, type TextPieces } from "./text-pieces.ts";
import { traceOf } from "./trace.ts";
import { transcriptOf } from "./transcript/transcript.ts";

type NamedText = readonly [name: string, text: TextPieces];

/** What is written of a run for people and trace viewers, by file name: from the store alone, so it can be made anew. */
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

/** A document as its file has it. */
export function documentText(document: object): TextPieces {
  return inChunks(jsonPieces(document, 1));
}
