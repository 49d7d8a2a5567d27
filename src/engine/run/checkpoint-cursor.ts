import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { JsonObject } from "../../core/json.ts";
import type { NewCheckpoint } from "../../store/store.ts";
import type { ActiveRun } from "./active-run.ts";

/** The step instance that a checkpoint is taken in. */
export type CheckpointStep = {
  readonly path: string;
  readonly phase: string;
  readonly stepIndex: number;
};

/** What is said of the place that a checkpoint was taken at: where the run stands, and what it has. */
export async function cursorOf(
  run: ActiveRun,
  { path, phase, stepIndex }: CheckpointStep,
  turn: number,
  lastToolCall: string | null,
): Promise<JsonObject> {
  const artifacts = (await run.artifacts.list()).map(({ name, hash }) => ({ name, hash }));
  const remainingPhases = run.contract.phases.slice(run.contract.phases.indexOf(phase) + 1);
  return { step: path, turn, lastToolCall, artifacts, phase, stepIndex, remainingPhases };
}

/** Before something outside of a job is changed; null where nothing is, or the step belongs to no phase. */
export async function beforeSideEffect(
  run: ActiveRun,
  place: CheckpointStep,
  turn: number,
  effects: readonly SideEffectClass[],
): Promise<NewCheckpoint | null> {
  if (place.phase === "" || !effects.some((effect) => effect === "external" || effect === "memory"))
    return null;
  const cursor = await cursorOf(run, place, turn, run.keeper.lastToolCall);
  return { type: "pre_side_effect", snapshot: run.keeper.session.snapshot().toJSON(), cursor };
}
