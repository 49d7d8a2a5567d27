import { isKept } from "../../core/lineage.ts";
import { type AssistantPart, filesIn, isTextPart, writtenIn } from "../../core/message.ts";
import { numberIn, numbersIn, textIn } from "../../export/event-facts.ts";
import { isoTime } from "../../export/figures.ts";
import type { RecordLookup } from "../../export/record-lookup.ts";
import type { Incident } from "../../export/run-incidents.ts";
import { shownFile } from "../../export/sent-file.ts";
import { answerParts } from "../../export/transcript/transcript-turn.ts";
import type {
  AttemptRecord,
  LineageRecord,
  MessageRecord,
  RunRecord,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../../store/store.ts";
import { isForNextText } from "../wait-time.ts";
import { shownText, shownValue, transcriptCall } from "./shown-values.ts";
import type { TranscriptContent, TranscriptDivider, TranscriptPart } from "./transcript-items.ts";

/** What the items of an event need that is not in its incident. */
export type TranscriptRecords = {
  readonly run: RunRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly lineages: readonly LineageRecord[];
  readonly records: RecordLookup;
};

/** What a page shows of an event, in order; nothing of most. */
export async function itemsOf(
  incident: Incident,
  known: TranscriptRecords,
): Promise<readonly TranscriptContent[]> {
  const { event } = incident;
  switch (event.type) {
    case "turn.opened":
    case "turn.denied":
      return takenItems(incident, known);
    case "turn.journaled":
      return answerItems(incident, known);
    case "turn.committed":
      return [
        ...answerItems(incident, known),
        ...(await followUp(incident, known)),
        ...completeExchange(incident),
        // Of the next turn, which is opened with the commit.
        ...(await takenItems(incident, known)),
      ];
    case "calls.prepared":
    case "calls.started":
      return codeCalls(incident);
    case "wait.answered":
    case "wait.approved":
      return answeredWait(incident);
    default:
      return [...dividers(incident, known), ...incident.opened.flatMap(openedWait), ...wakes(incident)];
  }
}

function answerItems(incident: Incident, { lineages }: TranscriptRecords): readonly TranscriptContent[] {
  const { response, isDropped, step, turnIndex } = incident;
  if (step === null || turnIndex === null) return [];
  const place = { step: step.path, turn: turnIndex };
  if (isDropped) return [{ kind: "dropped", ...place }];
  if (response === null) return [];
  // A summary begins a lineage and abandons nothing.
  const own = lineages.filter(({ stepPath, summary }) => stepPath === step.path && summary === null);
  return [{ kind: "assistant", ...place, parts: partsOf(response), isAbandoned: !isKept(own, turnIndex) }];
}

/** The parts of a model's answer. */
export function partsOf(turn: TurnRecord): readonly TranscriptPart[] {
  return answerParts(turn).map(({ part, call }) => partOf(part, call));
}

function partOf(part: AssistantPart, call: ToolCallRecord | null): TranscriptPart {
  if (call !== null) return { kind: "call", call: transcriptCall(call) };
  if (isTextPart(part)) return { kind: "text", text: shownText(part.text) };
  if (part.type === "reasoning" && typeof part.text === "string")
    return { kind: "reasoning", text: shownText(part.text) };
  const { type, ...rest } = part;
  return { kind: "other", type, value: shownValue(rest) };
}

async function followUp(
  { step, turnIndex }: Incident,
  { records }: TranscriptRecords,
): Promise<readonly TranscriptContent[]> {
  if (step === null || turnIndex === null) return [];
  const text = (await records.turn(step.path, turnIndex))?.followUp ?? null;
  return text === null
    ? []
    : [{ kind: "follow_up", step: step.path, turn: turnIndex, text: shownText(text) }];
}

/** The exchange that begins with a turn, and the messages that the turn takes. */
async function takenItems(
  { facts, step }: Incident,
  { records }: TranscriptRecords,
): Promise<readonly TranscriptContent[]> {
  const exchange = numberIn(facts, "exchange");
  const path = step?.path ?? null;
  const items: TranscriptContent[] =
    exchange === null ? [] : [{ kind: "exchange_begun", step: path, exchange }];
  for (const number of numbersIn(facts, "took")) {
    const message = await records.message(number);
    if (message !== null) items.push(userItem(path, message));
  }
  return items;
}

function userItem(step: string | null, { messageNo, sentBy, mode, body }: MessageRecord): TranscriptContent {
  const files = filesIn(body).map(shownFile);
  return { kind: "user", step, messageNo, sentBy, mode, text: shownText(writtenIn(body)), files };
}

function completeExchange({ facts, step }: Incident): readonly TranscriptContent[] {
  const exchange = numberIn(facts, "ended");
  if (exchange === null) return [];
  return [{ kind: "exchange_ended", step: step?.path ?? null, exchange, outcome: "complete", why: null }];
}

/** Calls of a turn are in its answer. */
function codeCalls({ wanted, step }: Incident): readonly TranscriptContent[] {
  if (wanted.length === 0) return [];
  return [{ kind: "calls", step: step?.path ?? null, calls: wanted.map(transcriptCall) }];
}

/** A conversation that waits for the next message is at its end, which a page shows anyway. */
function openedWait(wait: WaitRecord): readonly TranscriptContent[] {
  if (isForNextText(wait)) return [];
  const { waitId, toolCallId, question, status, matches, kind, dueAt } = wait;
  return [
    { kind: "wait", waitId, toolCallId, question, status, matches, waitKind: kind, dueAt: isoTime(dueAt) },
  ];
}

function answeredWait({ event, facts, answer: wait }: Incident): readonly TranscriptContent[] {
  if (wait === null) return [];
  const { waitId, toolCallId, people, answer } = wait;
  const by = textIn(facts, "by");
  return event.type === "wait.approved"
    ? [{ kind: "answer", waitId, toolCallId, by: by === null ? [] : [by], answer: null }]
    : [{ kind: "answer", waitId, toolCallId, by: people.map(({ name }) => name), answer }];
}

/** Waits that the clock or a message has ended. One that was only marked is still open. */
function wakes({ wakes: ended }: Incident): readonly TranscriptContent[] {
  return ended
    .filter((wait) => wait.answer !== null && !isForNextText(wait))
    .map(({ waitId, toolCallId, people, answer }) => ({
      kind: "answer",
      waitId,
      toolCallId,
      by: people.map(({ name }) => name),
      answer,
    }));
}

function dividers(incident: Incident, known: TranscriptRecords): readonly TranscriptDivider[] {
  const { event, facts, step } = incident;
  const path = step?.path ?? null;
  switch (event.type) {
    case "run.created":
    case "run.claimed":
      return lifeDivider(incident, known);
    case "run.forked":
      return forkDivider(known);
    case "step.begun":
    case "step.resumed":
    case "step.skipped":
    case "step.finished":
      return stepDivider(incident);
    case "exchange.ended": {
      const [exchange, outcome] = [numberIn(facts, "exchange") ?? 0, textIn(facts, "outcome")];
      const ended = { exchange, outcome, why: textIn(facts, "why") };
      return [{ kind: "exchange_ended", step: path, ...ended }];
    }
    case "lineage.begun":
      return lineageDivider(incident, known);
    case "run.cancel_requested":
      return [{ kind: "request", what: "cancel", by: textIn(facts, "by") }];
    case "exchange.stop_requested":
      return [{ kind: "request", what: "stop", by: textIn(facts, "by") }];
    case "artifact.kept":
      return [{ kind: "artifact", name: textIn(facts, "name") ?? "", size: numberIn(facts, "size") }];
    default:
      return runDivider(incident);
  }
}

const RUN_ENDS = {
  "run.succeeded": "succeeded",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
  "run.queued": "queued",
  "run.interrupted": "interrupted",
  "run.moved": "moved",
  "run.arrived": "arrived",
} as const;

function runDivider({ event, facts }: Incident): readonly TranscriptDivider[] {
  const { type } = event;
  if (!isRunEnd(type)) return [];
  return [{ kind: "run", what: RUN_ENDS[type], code: textIn(facts, "code"), by: textIn(facts, "by") }];
}

function isRunEnd(type: string): type is keyof typeof RUN_ENDS {
  return Object.hasOwn(RUN_ENDS, type);
}

function lifeDivider({ facts }: Incident, { attempts }: TranscriptRecords): readonly TranscriptDivider[] {
  const epoch = numberIn(facts, "epoch");
  const index = attempts.findIndex((attempt) => attempt.epoch === epoch);
  const attempt = attempts[index];
  if (attempt === undefined) return [];
  const { owner, resumedFrom, reason } = attempt;
  const before = attempts[index - 1];
  const afterDeath = before !== undefined && before.endedAt === null;
  return [{ kind: "life", number: index + 1, owner, resumedFrom, reason, afterDeath }];
}

function forkDivider({ run: { forkedFrom } }: TranscriptRecords): readonly TranscriptDivider[] {
  if (forkedFrom === null) return [];
  const { runId, stepPath: step, turnIndex: turn } = forkedFrom;
  return [{ kind: "fork", runId, step, turn }];
}

const STEP_EVENTS = {
  "step.begun": "begun",
  "step.resumed": "entered_again",
  "step.skipped": "skipped",
  "step.finished": "finished",
} as const;

function stepDivider({ event, step }: Incident): readonly TranscriptDivider[] {
  const { type } = event;
  if (step === null || !isStepEvent(type)) return [];
  const { path, kind, phase, input, output } = step;
  const what = STEP_EVENTS[type];
  const value = what === "begun" ? shownValue(input) : what === "finished" ? shownValue(output) : null;
  return [{ kind: "step", what, step: path, stepKind: kind, phase, value }];
}

function isStepEvent(type: string): type is keyof typeof STEP_EVENTS {
  return Object.hasOwn(STEP_EVENTS, type);
}

function lineageDivider(
  { facts, step }: Incident,
  { lineages }: TranscriptRecords,
): readonly TranscriptDivider[] {
  const path = step?.path ?? null;
  if (facts.reason !== "compaction") {
    const [firstTurn, baseTurn] = [numberIn(facts, "turn"), numberIn(facts, "baseTurn")];
    return [{ kind: "lineage", step: path, firstTurn, baseTurn }];
  }
  const number = numberIn(facts, "lineage");
  const begun = lineages.find(({ stepPath, lineage }) => stepPath === path && lineage === number);
  return [{ kind: "compaction", step: path, summary: shownText(begun?.summary ?? "") }];
}
