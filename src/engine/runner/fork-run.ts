import { ConfigurationError } from "../../core/errors.ts";
import { isKept } from "../../core/lineage.ts";
import type { Person } from "../../core/person.ts";
import type { StepPath } from "../../core/step-path.ts";
import { Session } from "../../session/session.ts";
import { sliceChanges } from "../../session/slice-changes.ts";
import { EMPTY_STATE, type SessionState } from "../../session/slice-set.ts";
import { Snapshot } from "../../session/snapshot.ts";
import type { NewFork, RunRecord, StepRecord, Store, ToolCallRecord, TurnRecord } from "../../store/store.ts";
import { requireRun } from "./run-checks.ts";
import type { RunSessionOptions } from "./runner-options.ts";

/** Options of `Runner.fork`. */
export type ForkOptions = {
  /** The last turn that the fork has in common with the run, counted from 1. */
  readonly atTurn: number;
  /** The path or name of the step that has the turn; by default the last step with that many turns. */
  readonly step?: string;
  /** The id of the fork; by default a new UUID. */
  readonly runId?: string;
  /** The person who starts the fork; by default the runner's `startedBy`. */
  readonly startedBy?: Person;
};

/** A new run that continues from a turn of another run. It is queued: `resume` starts it. */
export type Fork = {
  readonly run: RunRecord;
  /** Effects of the first run after that turn. The fork may cause them again. */
  readonly laterEffects: readonly ToolCallRecord[];
};

export async function forkRun(
  store: Store,
  options: RunSessionOptions,
  parent: string,
  { atTurn, step, runId, startedBy }: ForkOptions & { readonly runId: string },
): Promise<Fork> {
  const run = await requireRun(store, parent);
  if (!Number.isSafeInteger(atTurn) || atTurn < 1)
    throw new ConfigurationError(`A run cannot be forked at turn ${atTurn}: turns are counted from 1.`);
  const turns = (await store.listTurns(parent)).filter(({ committed }) => committed);
  const steps = await store.listSteps(parent);
  const forked = forkedStep(parent, steps, turns, atTurn, step);
  const session = new Session({
    id: runId,
    createdAt: run.createdAt,
    slices: options.slices,
    tags: options.tags,
  });
  const state = await stateAt(store, session, { parent, steps, turns, forked, atTurn });
  const fork: NewFork = {
    parent,
    runId,
    stepPath: forked.path,
    turnIndex: atTurn,
    slices: sliceChanges(session.slices, EMPTY_STATE, state),
    checkpoint: {
      type: "milestone",
      snapshot: session.snapshot(state).toJSON(),
      cursor: { step: forked.path, turn: atTurn, lastToolCall: null, forkedFrom: parent },
    },
    ...(startedBy === undefined ? {} : { startedBy }),
  };
  const later = (await store.listToolCalls(parent)).filter((call) =>
    isLaterEffect(call, steps, forked, atTurn),
  );
  return { run: await store.forkRun(fork), laterEffects: later };
}

function forkedStep(
  parent: string,
  steps: readonly StepRecord[],
  turns: readonly TurnRecord[],
  atTurn: number,
  wanted: string | undefined,
): StepRecord {
  const candidates = steps.filter(({ path }) =>
    turns.some((turn) => turn.stepPath === path && turn.turnIndex === atTurn),
  );
  const found =
    wanted === undefined
      ? candidates.at(-1)
      : candidates.find(({ path, name }) => path === wanted || name === wanted);
  if (found !== undefined) return found;
  const counts = steps.flatMap(({ path }) => {
    const own = turns.filter(({ stepPath }) => stepPath === path);
    return own.length === 0 ? [] : [`${path} has ${own.length}`];
  });
  const known = counts.length === 0 ? "it has no committed turns" : `committed turns: ${counts.join(", ")}`;
  throw new ConfigurationError(
    `Run ${parent} cannot be forked at turn ${atTurn}${wanted === undefined ? "" : ` of step ${wanted}`}: ${known}.`,
  );
}

/** The point at which a run is forked, and the stored run around it. */
type ForkPoint = {
  readonly parent: string;
  readonly steps: readonly StepRecord[];
  readonly turns: readonly TurnRecord[];
  readonly forked: StepRecord;
  readonly atTurn: number;
};

/**
 * The session after that turn: the last checkpoint before it, with the session events of the turns since then applied. A
 * finished step that changed the session left a checkpoint, so the events of other steps are not needed.
 */
async function stateAt(
  store: Store,
  session: Session,
  { parent, steps, turns, forked, atTurn }: ForkPoint,
): Promise<SessionState> {
  const indexOf = new Map(steps.map(({ path, stepIndex }) => [path, stepIndex]));
  const before = (await store.listCheckpoints(parent)).filter(
    ({ stepPath, turnIndex, isSuperseded, type }) =>
      !isSuperseded &&
      type !== "pre_side_effect" &&
      (stepPath === forked.path
        ? turnIndex > 0 && turnIndex <= atTurn
        : (indexOf.get(stepPath) ?? 0) < forked.stepIndex && !isAround(stepPath, forked.path)),
  );
  const last = before.at(-1);
  const saved = last === undefined ? null : await store.readCheckpoint(parent, last.checkpoint);
  let state = saved === null ? session.state : session.restored(Snapshot.fromJSON(saved.snapshot));
  const since = last?.stepPath === forked.path ? last.turnIndex : 0;
  const lineages = (await store.listLineages(parent)).filter(({ stepPath }) => stepPath === forked.path);
  const applied = new Set<string>();
  for (const { stepPath, turnIndex, calls } of turns) {
    if (stepPath !== forked.path || turnIndex <= since || turnIndex > atTurn) continue;
    // The events of a turn that was abandoned for an earlier milestone do not count.
    if (!isKept(lineages, turnIndex)) continue;
    for (const { toolCallId, receipt } of calls) {
      const origin = receipt?.duplicateOf ?? toolCallId;
      if (applied.has(origin)) continue;
      applied.add(origin);
      for (const event of receipt?.sessionEvents ?? []) state = session.slices.reduce(state, event);
    }
  }
  return state;
}

/** True if `path` is a loop around the forked step: it began before that step and ended after it. */
function isAround(path: StepPath, forked: StepPath): boolean {
  return forked.startsWith(`${path}[`) || forked.startsWith(`${path}/`);
}

function isLaterEffect(
  { stepPath, turnIndex, effect, status }: ToolCallRecord,
  steps: readonly StepRecord[],
  forked: StepRecord,
  atTurn: number,
): boolean {
  if (effect !== "external" && effect !== "memory") return false;
  if (status === "prepared" || status === "cancelled" || status === "deduplicated") return false;
  if (stepPath === forked.path) return turnIndex > atTurn;
  return indexIn(steps, stepPath) > forked.stepIndex;
}

function indexIn(steps: readonly StepRecord[], path: StepPath): number {
  return steps.find((step) => step.path === path)?.stepIndex ?? 0;
}
