import type { Change } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import { fingerprintChanges } from "../../core/turn/turn-fingerprint.ts";
import { requireRun } from "../../export/run-outline.ts";
import type { ModelCallRecord, RunRecord, StoreReader, TurnRecord } from "../../store/store.ts";
import { cursorOf, placeAt } from "../cursor.ts";
import { type ComparedTurn, comparedTurn, isSameAnswer, type TurnWithCost } from "./compared-turn.ts";
import { pathsWithTurns, type TurnPair, turnPairs } from "./turn-pairs.ts";

/** One of two runs that are compared. */
type ComparedRun = Pick<RunRecord, "runId" | "pipeline" | "status" | "charged" | "forkedFrom"> & {
  readonly tookMs: number;
};

/** Two runs beside each other, without their turns. */
export type RunComparison = {
  readonly a: ComparedRun;
  readonly b: ComparedRun;
  readonly hasSameInput: boolean;
  /** How many turns are the same, from the beginning on. */
  readonly sameTurns: number;
  /** The `after` of `compareTurns` for the first turn that differs; null for the beginning. */
  readonly differsAfter: string | null;
  /** Of each agent that both runs have and that is not the same: model, prompt, tools, settings. */
  readonly agents: readonly { readonly step: StepPath; readonly changes: readonly Change[] }[];
  /** Of the outputs. Lists of changes are cut after 100. */
  readonly output: readonly Change[];
};

const MOST_CHANGES = 100;

/**
 * Compares two runs, such as a fork and its parent. Reads their turns up to the first difference, page by page.
 *
 * @example
 * const { sameTurns, differsAfter } = await compareRuns(store, "q-1", "q-1-fork");
 * const page = await compareTurns(store, "q-1", "q-1-fork", differsAfter === null ? {} : { after: differsAfter });
 */
export async function compareRuns(store: StoreReader, a: string, b: string): Promise<RunComparison> {
  const [runA, runB] = [await requireRun(store, a), await requireRun(store, b)];
  let sameTurns = 0;
  let last: TurnPair | null = null;
  for await (const pair of turnPairs(store, [a, b], null)) {
    if (pair.a === null || pair.b === null || !isSameAnswer(pair.a, pair.b)) break;
    sameTurns += 1;
    last = pair;
  }
  return {
    a: comparedRun(runA),
    b: comparedRun(runB),
    hasSameInput: Buffer.from(runA.inputHash).equals(runB.inputHash),
    sameTurns,
    differsAfter: last === null ? null : cursorOf(last.step, last.turn),
    agents: await compareAgents(store, a, b),
    output: fingerprintChanges(runA.output, runB.output).slice(0, MOST_CHANGES),
  };
}

function comparedRun(run: RunRecord): ComparedRun {
  const { runId, pipeline, status, charged, forkedFrom, createdAt, updatedAt } = run;
  return { runId, pipeline, status, charged, forkedFrom, tookMs: updatedAt - createdAt };
}

async function compareAgents(store: StoreReader, a: string, b: string): Promise<RunComparison["agents"]> {
  const ofB = new Set(await pathsWithTurns(store, b));
  const agents: { step: StepPath; changes: readonly Change[] }[] = [];
  for (const step of (await pathsWithTurns(store, a)).filter((path) => ofB.has(path))) {
    const changes = fingerprintChanges(await documentOf(store, a, step), await documentOf(store, b, step));
    if (changes.length > 0) agents.push({ step, changes: changes.slice(0, MOST_CHANGES) });
  }
  return agents;
}

/** Everything that shapes the answers of an agent. */
async function documentOf(store: StoreReader, runId: string, path: StepPath): Promise<Json> {
  const step = await store.findStep(runId, path);
  if (step === null) return null;
  return (await store.readConversation(runId, step.stepKey, 0)).fingerprint?.document ?? null;
}

/** Which turns are compared: those after a cursor. */
export type ComparedRange = {
  readonly after?: string;
  /** 20 by default. */
  readonly limit?: number;
};

/** Some turns of two runs side by side, and the cursor for the next ones; null if there are none. */
export type ComparedPage = { readonly turns: readonly ComparedTurn[]; readonly next: string | null };

export async function compareTurns(
  store: StoreReader,
  a: string,
  b: string,
  { after, limit = 20 }: ComparedRange = {},
): Promise<ComparedPage> {
  await requireRun(store, a);
  await requireRun(store, b);
  const turns: ComparedTurn[] = [];
  for await (const pair of turnPairs(store, [a, b], after === undefined ? null : placeIn(after))) {
    const last = turns.at(-1);
    if (last !== undefined && turns.length >= limit) return { turns, next: cursorOf(last.step, last.turn) };
    const [ofA, ofB] = [await withCost(store, a, pair.a), await withCost(store, b, pair.b)];
    turns.push(comparedTurn(pair.step, pair.turn, ofA, ofB));
  }
  return { turns, next: null };
}

function placeIn(after: string): { readonly step: StepPath; readonly turn: number } {
  return placeAt("after", after, ([step, turn]) =>
    typeof step === "string" && typeof turn === "number" ? { step, turn } : null,
  );
}

/** A turn is seldom asked for more often than this. */
const MOST_REQUESTS = 50;

async function withCost(
  store: StoreReader,
  runId: string,
  turn: TurnRecord | null,
): Promise<TurnWithCost | null> {
  if (turn === null) return null;
  const { stepPath, turnIndex } = turn;
  const after = { stepPath, turnIndex: turnIndex - 1, attempt: Number.MAX_SAFE_INTEGER };
  const requests = await store.listModelCalls(runId, { after, limit: MOST_REQUESTS });
  const isIts = (call: ModelCallRecord) => call.stepPath === stepPath && call.turnIndex === turnIndex;
  return { turn, requests: requests.filter(isIts) };
}
