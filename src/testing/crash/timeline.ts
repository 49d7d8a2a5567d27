import type { Evidence, ProcessRecord } from "./evidence.ts";
import { pointText } from "./point.ts";
import type { Effect, ModelLine, SeenCall, WitnessLine } from "./witness.ts";

/** Something that happened in a schedule, as seen from outside. */
export type TimelineLine = {
  /** The number of the process, from 1. */
  readonly process: number;
  readonly what: string;
  /** The tool that it concerns; null for none. */
  readonly tool: string | null;
};

/** The witness log of a schedule as text, with the deaths and pauses in between. */
export function timelineOf(evidence: Evidence): readonly TimelineLine[] {
  const events = processEvents(evidence);
  const eventsAt = (index: number) => events.filter(({ at }) => at === index).map(({ line }) => line);
  const { length } = evidence.witness;
  // The calls of the last process, which should have had nothing left to do, come last.
  const witness = [...evidence.witness, ...evidence.again.witness];
  return [
    ...witness.flatMap((_, i) => [...eventsAt(i), ...witnessText(witness, i)]),
    ...(witness.length === length ? eventsAt(length) : []),
  ];
}

/** A long timeline reduced to these tools and the events of processes, with the number of lines left out. */
export function shortenTimeline(
  timeline: readonly TimelineLine[],
  tools: ReadonlySet<string>,
  max: number,
): readonly (TimelineLine | { readonly leftOut: number })[] {
  const isAboutNone = !timeline.some(({ tool }) => tool !== null && tools.has(tool));
  if (timeline.length <= max || isAboutNone) return timeline;
  const short: (TimelineLine | { leftOut: number })[] = [];
  for (const line of timeline) {
    const isKept = line.tool === PROCESS ? true : line.tool !== null && tools.has(line.tool);
    const last = short.at(-1);
    if (isKept) short.push(line);
    else if (last !== undefined && "leftOut" in last) last.leftOut += 1;
    else short.push({ leftOut: 1 });
  }
  return short;
}

/** In place of a tool's name: the line is about the process itself. */
const PROCESS = "";

/** One line for each call: the other witness lines of the same call have no text. */
function witnessText(witness: readonly WitnessLine[], index: number): readonly TimelineLine[] {
  const line = witness[index];
  if (line === undefined) return [];
  const text = (what: string, tool: string | null = null) => [{ process: line.life, what, tool }];
  switch (line.kind) {
    case "asked": {
      const isAnswered = witness.some((other) => isAnswer(other) && isSameRequest(other, line));
      return isAnswered
        ? []
        : text(`asks the model for turn ${line.turnIndex} of ${line.stepPath}: no answer`);
    }
    case "answered":
      return text(`the model answers turn ${line.turnIndex} of ${line.stepPath}`);
    case "refused":
      return text(`the provider refuses turn ${line.turnIndex} of ${line.stepPath}`);
    case "entered": {
      const hasHappened = witness.some((other) => other.kind === "effect" && isSameAttempt(other, line));
      return hasHappened ? [] : text(`${runs(line)}: nothing happens`, line.tool);
    }
    case "effect":
      return text(`${runs(line)}: ${effectText(witness.slice(0, index), line)}`, line.tool);
    case "looked":
      return text(`looks up ${line.tool} (${keyText(line)}): ${foundText(line.found)}`, line.tool);
    case "received":
      return text(`sends the message ${line.id}: ${line.status}`);
  }
}

function runs(call: SeenCall): string {
  const again = call.attempt > 1 ? " again" : "";
  return `runs ${call.tool} (${keyText(call)})${again}`;
}

function keyText({ key }: SeenCall): string {
  return `key ${key.slice(0, 8)}`;
}

function effectText(before: readonly WitnessLine[], { key, isDropped }: Effect): string {
  if (isDropped) return "the outside system knows the key, and drops it";
  const times = before.filter((line) => line.kind === "effect" && line.key === key && !line.isDropped).length;
  return times === 0 ? "it happens" : `IT HAPPENS ${times === 1 ? "A SECOND TIME" : "AGAIN"}`;
}

function foundText(found: boolean | null): string {
  if (found === null) return "unknown";
  return found ? "found" : "not found";
}

function isAnswer(line: WitnessLine): line is Extract<WitnessLine, { kind: "answered" | "refused" }> {
  return line.kind === "answered" || line.kind === "refused";
}

function isSameRequest(a: ModelLine, b: ModelLine): boolean {
  return (
    a.life === b.life &&
    a.runId === b.runId &&
    a.stepPath === b.stepPath &&
    a.turnIndex === b.turnIndex &&
    a.attempt === b.attempt
  );
}

function isSameAttempt(a: SeenCall, b: SeenCall): boolean {
  return a.life === b.life && a.toolCallId === b.toolCallId && a.attempt === b.attempt;
}

/** The stop, wake-up or end of a process, placed before the witness line of this index. */
type ProcessEvent = { readonly at: number; readonly line: TimelineLine };

function processEvents(evidence: Evidence): readonly ProcessEvent[] {
  const { lives } = evidence;
  const [stop, wake] = pauseEvents(evidence);
  if (stop === undefined || wake === undefined) return lives.map((life) => endEvent(evidence, life, 0));
  const isWoken = (life: ProcessRecord) => life.number === wake.line.process;
  // The order of events at the same index.
  return [
    stop,
    ...lives.filter((life) => !isWoken(life)).map((life) => endEvent(evidence, life, 0)),
    wake,
    ...lives.filter(isWoken).map((life) => endEvent(evidence, life, wake.at)),
  ];
}

function endEvent(evidence: Evidence, life: ProcessRecord, notBefore: number): ProcessEvent {
  return processEvent(Math.max(endOf(evidence, life), notBefore), life.number, endText(life));
}

function processEvent(at: number, process: number, what: string): ProcessEvent {
  return { at, line: { process, what, tool: PROCESS } };
}

function pauseEvents({
  schedule,
  witness,
  lives,
}: Evidence): readonly [stop?: ProcessEvent, wake?: ProcessEvent] {
  const [first, second] = lives;
  if (schedule.kind !== "pause" || first === undefined || second === undefined) return [];
  const stopped = indexFrom(witness, 0, ({ life }) => life === second.number);
  const woken = indexFrom(witness, stopped, ({ life }) => life === first.number);
  const when =
    schedule.wake === null
      ? `process ${second.number} has ended`
      : `process ${second.number} is ${pointText(schedule.wake)}`;
  return [
    processEvent(stopped, first.number, `is stopped ${pointText(schedule.at)}, for longer than its lease`),
    processEvent(woken, first.number, `wakes: ${when}`),
  ];
}

function endOf({ witness }: Evidence, { number, end }: ProcessRecord): number {
  const last = witness.findLastIndex(({ life }) => life === number);
  if (last >= 0) return last + 1;
  return end.kind === "died" ? indexFrom(witness, 0, ({ life }) => life > number) : witness.length;
}

function indexFrom(
  witness: readonly WitnessLine[],
  from: number,
  matches: (line: WitnessLine) => boolean,
): number {
  const found = witness.slice(from).findIndex(matches);
  return found < 0 ? witness.length : from + found;
}

function endText({ end, reached }: ProcessRecord): string {
  const last = reached.at(-1);
  switch (end.kind) {
    case "died":
      return last === undefined ? "DIES" : `DIES ${pointText(last)}`;
    case "returned":
      return `ends${statusOf(end.value)}`;
    case "threw":
      return `ends with ${end.name}: ${end.message}`;
    case "stuck":
      return "hangs";
  }
}

function statusOf(value: unknown): string {
  const isResult = typeof value === "object" && value !== null && "status" in value;
  return isResult && typeof value.status === "string" ? `: ${value.status}` : "";
}
