import type { Json } from "../../core/json.ts";
import type { StoredSlice, StoreReader } from "../../store/store.ts";
import { counted, isoTime } from "../figures.ts";
import { code, jsonFence } from "../markdown.ts";
import { RecordLookup } from "../record-lookup.ts";
import { IncidentReader } from "../run-incidents.ts";
import { type RunOutline, readRunOutline } from "../run-outline.ts";
import { tallyRun } from "../run-tally.ts";
import { type TextPieces, wholeText } from "../text-pieces.ts";
import { ChapterWriter } from "./transcript-chapter.ts";
import { takenOver } from "./transcript-fork.ts";
import { transcriptHead } from "./transcript-head.ts";
import { TranscriptSource } from "./transcript-source.ts";

const WHOLE = "all of it is in the store";

/**
 * The run as a text in Markdown that can be read from beginning to end: every attempt, step, turn, call and answer in the
 * order of its log. Made from the store alone, so the same store results in the same bytes.
 */
export async function renderTranscript(reader: StoreReader, runId: string): Promise<string> {
  return wholeText(transcriptOf(reader, await readRunOutline(reader, runId)));
}

export async function* transcriptOf(reader: StoreReader, outline: RunOutline): TextPieces {
  let gap = "";
  for await (const paragraph of paragraphsOf(reader, outline)) {
    yield `${gap}${paragraph}`;
    gap = "\n\n";
  }
  yield "\n";
}

async function* paragraphsOf(reader: StoreReader, outline: RunOutline): TextPieces {
  const { run, chapters } = outline;
  const records = new RecordLookup(reader, run.runId);
  const source = await TranscriptSource.open(reader, outline, records);
  yield* transcriptHead(outline, await tallyRun(reader, run.runId));
  if (run.forkedFrom !== null) yield* takenOver(reader, source);
  const writer = new ChapterWriter(source);
  const incidents = new IncidentReader(reader, outline, records);
  for (const chapter of chapters) yield* writer.write(chapter, incidents.read(chapter));
  yield* transcriptEnd(outline, await reader.readSession(run.runId));
}

function transcriptEnd({ run, artifacts }: RunOutline, session: readonly StoredSlice[]): readonly string[] {
  return [
    "## Current state",
    `The run has the status **${run.status}**.`,
    ...(run.status === "succeeded" ? ["Its output:", jsonFence(run.output, WHOLE)] : []),
    ...(artifacts.length === 0 ? [] : ["Its artifacts:", artifactList(artifacts)]),
    ...session.flatMap(sliceText),
  ];
}

function artifactList(artifacts: RunOutline["artifacts"]): string {
  return artifacts
    .map(({ name, size, hash, stepPath, at }) => {
      const made = stepPath === "" ? "the run" : `step ${code(stepPath)}`;
      return `- ${code(name)}: ${counted(size, "byte")}, SHA-256 ${code(hash)}, by ${made} at ${isoTime(at)}`;
    })
    .join("\n");
}

/** Only the newest values of a slice are shown. */
const SHOWN_VALUES = 20;

function sliceText({ name, kind, values }: StoredSlice): readonly string[] {
  const shown: readonly Json[] = values.slice(-SHOWN_VALUES);
  const count = counted(values.length, "value");
  const which = shown.length < values.length ? `, the last ${shown.length} of them` : "";
  return [`The session's slice ${code(name)} (${kind}) has ${count}${which}:`, jsonFence(shown, WHOLE)];
}
