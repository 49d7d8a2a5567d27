import type { Json } from "../core/json.ts";
import type { StoredSlice, StoreReader } from "../store/store.ts";
import { counted, isoTime } from "./figures.ts";
import { code, jsonFence } from "./markdown.ts";
import { readLargeResults } from "./result-texts.ts";
import { type RunAccount, readRunAccount } from "./run-account.ts";
import { tellStory } from "./run-story.ts";
import { readGrounds } from "./step-ground.ts";
import { ChapterWriter } from "./transcript-chapter.ts";
import { takenOver } from "./transcript-fork.ts";
import { transcriptHead } from "./transcript-head.ts";

const WHOLE = "all of it is in the store";

/**
 * The run as a text in Markdown that can be read from beginning to end: every attempt, step, turn, call and answer in the
 * order of its log. Made from the store alone, so the same store gives the same bytes.
 */
export async function renderTranscript(reader: StoreReader, runId: string): Promise<string> {
  return transcriptOf(reader, await readRunAccount(reader, runId));
}

export async function transcriptOf(reader: StoreReader, account: RunAccount): Promise<string> {
  const { runId } = account.run;
  const story = tellStory(account);
  const tries = new Map(account.tries.map((each) => [`${each.toolCallId} ${each.attempt}`, each]));
  const followUps = new Map(
    account.turns.map((turn) => [`${turn.stepPath}#${turn.turnIndex}`, turn.followUp]),
  );
  const large = await readLargeResults(reader, runId, account.calls);
  const writer = new ChapterWriter({
    run: account.run,
    lastSeq: account.events.at(-1)?.seq ?? 0,
    waits: account.waits,
    findTry: (toolCallId, attempt) => tries.get(`${toolCallId} ${attempt}`) ?? null,
    findFollowUp: (path, turnIndex) => followUps.get(`${path}#${turnIndex}`) ?? null,
    large,
    grounds: await readGrounds(reader, account),
  });
  const paragraphs = [
    ...transcriptHead(account, story.chapters),
    ...(account.run.forkedFrom === null ? [] : takenOver(account, story, large)),
    ...story.chapters.flatMap((chapter, i) => writer.write(chapter, i + 1)),
    ...transcriptEnd(account, await reader.readSession(runId)),
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

function transcriptEnd({ run, artifacts }: RunAccount, session: readonly StoredSlice[]): readonly string[] {
  return [
    "## What there is now",
    `The run has the status **${run.status}**.`,
    ...(run.status === "succeeded" ? ["Its output:", jsonFence(run.output, WHOLE)] : []),
    ...(artifacts.length === 0 ? [] : ["Its artifacts:", artifactList(artifacts)]),
    ...session.flatMap(sliceText),
  ];
}

function artifactList(artifacts: RunAccount["artifacts"]): string {
  return artifacts
    .map(({ name, size, hash, stepPath, at }) => {
      const made = stepPath === "" ? "the run" : `step ${code(stepPath)}`;
      return `- ${code(name)}: ${counted(size, "byte")}, SHA-256 ${code(hash)}, by ${made} at ${isoTime(at)}`;
    })
    .join("\n");
}

/** The newest values are what a reader wants to see. */
const SHOWN_VALUES = 20;

function sliceText({ name, kind, values }: StoredSlice): readonly string[] {
  const shown: readonly Json[] = values.slice(-SHOWN_VALUES);
  const count = counted(values.length, "value");
  const which = shown.length < values.length ? `, the last ${shown.length} of them` : "";
  return [`The session's slice ${code(name)} (${kind}) has ${count}${which}:`, jsonFence(shown, WHOLE)];
}
