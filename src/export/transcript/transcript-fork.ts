import type { StepPath } from "../../core/step-path.ts";
import type { StepRecord, StoreReader, ToolCallRecord, TurnRecord } from "../../store/store.ts";
import { factsOf, numberIn, numbersIn, textIn } from "../event-facts.ts";
import { LogReader } from "../log-reader.ts";
import { code } from "../markdown.ts";
import { everyRecord } from "../record-pages.ts";
import type { RunOutline } from "../run-outline.ts";
import type { TextPieces } from "../text-pieces.ts";
import { askedCall } from "./transcript-call.ts";
import type { TranscriptSource } from "./transcript-source.ts";
import { responseText } from "./transcript-turn.ts";

/** The start of a fork: the steps, turns and calls of the first run, which are not in the fork's own log. */
export async function* takenOver(reader: StoreReader, source: TranscriptSource): TextPieces {
  const { run } = source.outline;
  const own = await ownBeginnings(reader, source.outline);
  yield `## Taken over from run ${code(run.forkedFrom?.runId ?? "")}`;
  yield "These turns and calls were made, and paid for, by that run. Their receipts apply here, too.";
  for await (const step of everyRecord<StepRecord>((range) => reader.listSteps(run.runId, range)))
    yield* takenStep(reader, source, step, own.get(step.path) ?? ALL_TAKEN);
}

/** The first turn, and the first call of a code step, that the fork made itself in a step. */
type Beginning = { readonly turnIndex: number; readonly callIndex: number };

const ALL_TAKEN: Beginning = {
  turnIndex: Number.POSITIVE_INFINITY,
  callIndex: Number.POSITIVE_INFINITY,
};

async function* takenStep(
  reader: StoreReader,
  source: TranscriptSource,
  { path }: StepRecord,
  own: Beginning,
): TextPieces {
  const { runId } = source.outline.run;
  let heading: readonly string[] = [`### Step ${code(path)}`];
  const place = { stepPath: path, turnIndex: 0, callIndex: 0 };
  const turns = everyRecord<TurnRecord>((range) => reader.listTurns(runId, { after: place, ...range }));
  for await (const turn of ofStep(path, turns)) {
    if (turn.turnIndex >= own.turnIndex) break;
    yield* heading;
    heading = [];
    yield `#### Turn ${turn.turnIndex} of ${code(path)}`;
    yield* responseText(turn);
    for (const call of turn.calls) yield await source.settledCall(call);
  }
  const calls = everyRecord<ToolCallRecord>((range) =>
    reader.listToolCalls(runId, { after: place, ...range }),
  );
  for await (const call of ofStep(path, calls)) {
    if (call.callIndex >= own.callIndex) break;
    yield* heading;
    heading = [];
    yield askedCall(call);
    yield await source.settledCall(call);
  }
}

/** The records of one step, out of the records from that step on. */
async function* ofStep<T extends { readonly stepPath: StepPath }>(
  path: StepPath,
  records: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  for await (const record of records) {
    if (record.stepPath !== path) return;
    yield record;
  }
}

/** By step. The fork continues the numbers of turns and calls: those before the first in its own log are the first run's. */
async function ownBeginnings(
  reader: StoreReader,
  { run, lastSeq }: RunOutline,
): Promise<ReadonlyMap<StepPath, Beginning>> {
  const own = new Map<StepPath, Beginning>();
  for await (const event of new LogReader(reader, run.runId, { firstSeq: 1, lastSeq }).events()) {
    const facts = factsOf(event);
    const [path, turn] = [textIn(facts, "step"), numberIn(facts, "turn")];
    if (path === null || turn === null) continue;
    const { turnIndex, callIndex } = own.get(path) ?? ALL_TAKEN;
    if (turn > 0 && facts.response !== undefined)
      own.set(path, { turnIndex: Math.min(turnIndex, turn), callIndex });
    if (turn === 0 && facts.new === true)
      own.set(path, { turnIndex, callIndex: Math.min(callIndex, ...numbersIn(facts, "calls")) });
  }
  return own;
}
