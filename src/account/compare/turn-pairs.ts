import type { StepPath } from "../../core/step-path.ts";
import { everyRecord } from "../../export/record-pages.ts";
import type { StoreReader, TurnRecord } from "../../store/store.ts";

/** The same turn of two runs; null for a run that does not have it. */
export type TurnPair = {
  readonly step: StepPath;
  readonly turn: number;
  readonly a: TurnRecord | null;
  readonly b: TurnRecord | null;
};

/** A turn in the order of a comparison. */
export type PairPlace = { readonly step: StepPath; readonly turn: number };

const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** The steps of a run that have turns, in order. One query for each: the turns between are skipped. */
export async function pathsWithTurns(store: StoreReader, runId: string): Promise<readonly StepPath[]> {
  const paths: StepPath[] = [];
  for (;;) {
    const last = paths.at(-1);
    const after = last === undefined ? {} : { after: { stepPath: last, turnIndex: AFTER_ALL } };
    const [first] = await store.listTurns(runId, { limit: 1, ...after });
    if (first === undefined) return paths;
    paths.push(first.stepPath);
  }
}

/** The turns of two runs in pairs: by the steps of the first one, then by those that only the second one has. */
export async function* turnPairs(
  store: StoreReader,
  [a, b]: readonly [string, string],
  from: PairPlace | null,
): AsyncGenerator<TurnPair, void, undefined> {
  const [ofA, ofB] = [await pathsWithTurns(store, a), await pathsWithTurns(store, b)];
  const paths = [...ofA, ...ofB.filter((path) => !ofA.includes(path))];
  const start = from === null ? 0 : paths.indexOf(from.step);
  for (const path of paths.slice(Math.max(0, start))) {
    const after = path === from?.step ? from.turn : 0;
    yield* stepPairs(
      path,
      ofA.includes(path) ? stepTurns(store, a, path, after) : noTurns(),
      ofB.includes(path) ? stepTurns(store, b, path, after) : noTurns(),
    );
  }
}

/** Both lists are in the order of their turns. */
async function* stepPairs(
  step: StepPath,
  ofA: AsyncGenerator<TurnRecord, void, undefined>,
  ofB: AsyncGenerator<TurnRecord, void, undefined>,
): AsyncGenerator<TurnPair, void, undefined> {
  let [a, b] = [await nextOf(ofA), await nextOf(ofB)];
  while (a !== null || b !== null) {
    const turn = Math.min(a?.turnIndex ?? AFTER_ALL, b?.turnIndex ?? AFTER_ALL);
    const [isOfA, isOfB] = [a?.turnIndex === turn, b?.turnIndex === turn];
    yield { step, turn, a: isOfA ? a : null, b: isOfB ? b : null };
    if (isOfA) a = await nextOf(ofA);
    if (isOfB) b = await nextOf(ofB);
  }
}

async function nextOf(turns: AsyncGenerator<TurnRecord, void, undefined>): Promise<TurnRecord | null> {
  const next = await turns.next();
  return next.done === true ? null : next.value;
}

async function* stepTurns(
  store: StoreReader,
  runId: string,
  stepPath: StepPath,
  after: number,
): AsyncGenerator<TurnRecord, void, undefined> {
  const start = { stepPath, turnIndex: after };
  const turns = everyRecord<TurnRecord>((range) => store.listTurns(runId, { after: start, ...range }));
  for await (const turn of turns) {
    if (turn.stepPath !== stepPath) return;
    yield turn;
  }
}

async function* noTurns(): AsyncGenerator<TurnRecord, void, undefined> {}
