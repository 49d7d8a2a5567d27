import type { Evidence, LifeRecord } from "./evidence.ts";
import { pointText } from "./point.ts";
import type { Effect, SeenCall, WitnessLine } from "./witness.ts";

/** Something that happened, as one who watched from outside would tell it. */
export type StoryLine = {
  /** Which process it is told of, from 1. */
  readonly process: number;
  readonly what: string;
  /** The tool that it is about; null where it is about none. */
  readonly tool: string | null;
};

/** What the outside saw in a schedule, in order, with the deaths and pauses in between. */
export function storyOf(evidence: Evidence): readonly StoryLine[] {
  const marks = marksOf(evidence);
  const marksAt = (index: number) => marks.filter(({ at }) => at === index).map(({ line }) => line);
  const { length } = evidence.witness;
  // What a process did that should have had nothing left to do comes last.
  const witness = [...evidence.witness, ...evidence.again.witness];
  return [
    ...witness.flatMap((_, i) => [...marksAt(i), ...told(witness, i)]),
    ...(witness.length === length ? marksAt(length) : []),
  ];
}

/** Of a long story what is about these tools, and what befell the processes; how much was left out is said. */
export function shortened(
  story: readonly StoryLine[],
  tools: ReadonlySet<string>,
  most: number,
): readonly (StoryLine | { readonly leftOut: number })[] {
  const isAboutNone = !story.some(({ tool }) => tool !== null && tools.has(tool));
  if (story.length <= most || isAboutNone) return story;
  const short: (StoryLine | { leftOut: number })[] = [];
  for (const line of story) {
    const isKept = line.tool === PROCESS ? true : line.tool !== null && tools.has(line.tool);
    const last = short.at(-1);
    if (isKept) short.push(line);
    else if (last !== undefined && "leftOut" in last) last.leftOut += 1;
    else short.push({ leftOut: 1 });
  }
  return short;
}

/** Stands where the name of a tool would: what is told is about the process itself. */
const PROCESS = "";

/** The other lines of the same call are told with it. */
function told(witness: readonly WitnessLine[], index: number): readonly StoryLine[] {
  const line = witness[index];
  if (line === undefined) return [];
  const say = (what: string, tool: string | null = null) => [{ process: line.life, what, tool }];
  switch (line.kind) {
    case "asked": {
      const isAnswered = witness.some((other) => isAnswer(other) && isSameRequest(other, line));
      return isAnswered
        ? []
        : say(`asks the model for turn ${line.turnIndex} of ${line.stepPath}: no answer`);
    }
    case "answered":
      return say(`the model answers turn ${line.turnIndex} of ${line.stepPath}`);
    case "refused":
      return say(`the provider refuses turn ${line.turnIndex} of ${line.stepPath}`);
    case "entered": {
      const hasHappened = witness.some((other) => other.kind === "effect" && isSameTry(other, line));
      return hasHappened ? [] : say(`${runs(line)}: nothing happens`, line.tool);
    }
    case "effect":
      return say(`${runs(line)}: ${effectText(witness.slice(0, index), line)}`, line.tool);
    case "looked":
      return say(`looks up ${line.tool} (${keyText(line)}): ${foundText(line.found)}`, line.tool);
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
  if (isDropped) return "the other side knows the key, and drops it";
  const times = before.filter((line) => line.kind === "effect" && line.key === key && !line.isDropped).length;
  return times === 0 ? "it happens" : `IT HAPPENS ${times === 1 ? "A SECOND TIME" : "ONCE MORE"}`;
}

function foundText(found: boolean | null): string {
  if (found === null) return "it cannot tell";
  return found ? "it is there" : "it is not there";
}

type Answer = Extract<WitnessLine, { kind: "answered" | "refused" }>;
type ModelLine = Extract<WitnessLine, { kind: "asked" }> | Answer;

function isAnswer(line: WitnessLine): line is Answer {
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

function isSameTry(a: SeenCall, b: SeenCall): boolean {
  return a.life === b.life && a.toolCallId === b.toolCallId && a.attempt === b.attempt;
}

/** Something that befell a process, told before the witness's line of this index. */
type Mark = { readonly at: number; readonly line: StoryLine };

function marksOf(evidence: Evidence): readonly Mark[] {
  const { lives } = evidence;
  const [stop, wake] = pauseMarks(evidence);
  if (stop === undefined || wake === undefined) return lives.map((life) => endMark(evidence, life, 0));
  const isWoken = (life: LifeRecord) => life.number === wake.line.process;
  // Of what falls together, this is the order.
  return [
    stop,
    ...lives.filter((life) => !isWoken(life)).map((life) => endMark(evidence, life, 0)),
    wake,
    ...lives.filter(isWoken).map((life) => endMark(evidence, life, wake.at)),
  ];
}

function endMark(evidence: Evidence, life: LifeRecord, notBefore: number): Mark {
  return mark(Math.max(endOf(evidence, life), notBefore), life.number, endText(life));
}

function mark(at: number, process: number, what: string): Mark {
  return { at, line: { process, what, tool: PROCESS } };
}

function pauseMarks({ schedule, witness, lives }: Evidence): readonly [stop?: Mark, wake?: Mark] {
  const [first, second] = lives;
  if (schedule.kind !== "pause" || first === undefined || second === undefined) return [];
  const stopped = indexFrom(witness, 0, ({ life }) => life === second.number);
  const woken = indexFrom(witness, stopped, ({ life }) => life === first.number);
  const when =
    schedule.wake === null
      ? `process ${second.number} has come to its end`
      : `process ${second.number} is ${pointText(schedule.wake)}`;
  return [
    mark(stopped, first.number, `is stopped ${pointText(schedule.at)}, for longer than its lease`),
    mark(woken, first.number, `wakes: ${when}`),
  ];
}

function endOf({ witness }: Evidence, { number, end }: LifeRecord): number {
  const last = witness.findLastIndex(({ life }) => life === number);
  if (last >= 0) return last + 1;
  return end.kind === "died" ? indexFrom(witness, 0, ({ life }) => life > number) : witness.length;
}

function indexFrom(
  witness: readonly WitnessLine[],
  from: number,
  isIt: (line: WitnessLine) => boolean,
): number {
  const found = witness.slice(from).findIndex(isIt);
  return found < 0 ? witness.length : from + found;
}

function endText({ end, reached }: LifeRecord): string {
  const last = reached.at(-1);
  switch (end.kind) {
    case "died":
      return last === undefined ? "DIES" : `DIES ${pointText(last)}`;
    case "returned":
      return `comes to its end${statusOf(end.value)}`;
    case "threw":
      return `ends with ${end.name}: ${end.message}`;
    case "stuck":
      return "goes on no more, and does not end";
  }
}

function statusOf(value: unknown): string {
  const isResult = typeof value === "object" && value !== null && "status" in value;
  return isResult && typeof value.status === "string" ? `: ${value.status}` : "";
}
