import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { JsonObject } from "../../core/json.ts";
import type { NewCheckpoint } from "../../store/store.ts";
import type { RunWith } from "./active-run.ts";

/** The step instance that a checkpoint is taken in. */
export type CheckpointStep = {
  readonly path: string;
  readonly phase: string;
  readonly stepIndex: number;
};

/** The cursor of a checkpoint: the position of the run, and its artifacts. */
export async function cursorOf(
  { artifacts: stored, contract: { phases } }: RunWith<"artifacts" | "contract">,
  { path, phase, stepIndex }: CheckpointStep,
  turn: number,
  lastToolCall: string | null,
): Promise<JsonObject> {
  const artifacts = (await stored.list()).map(({ name, hash }) => ({ name, hash }));
  const remainingPhases = phases.slice(phases.indexOf(phase) + 1);
  return { step: path, turn, lastToolCall, artifacts, phase, stepIndex, remainingPhases };
}

/** The checkpoint before side effects of a job; null if there are none, or the step has no phase. */
export async function beforeSideEffect(
  run: RunWith<"artifacts" | "contract" | "keeper">,
  step: CheckpointStep,
  turn: number,
  effects: readonly SideEffectClass[],
): Promise<NewCheckpoint | null> {
  if (step.phase === "" || !effects.some((effect) => effect === "external" || effect === "memory"))
    return null;
  const cursor = await cursorOf(run, step, turn, run.keeper.lastToolCall);
  return { type: "pre_side_effect", snapshot: run.keeper.session.snapshot().toJSON(), cursor };
}
