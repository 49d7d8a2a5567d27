import { assertJson, assertPayload, canonicalJson } from "../../core/canonical-json.ts";
import { PawlError, StepFailedError } from "../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { childPath, type StepPath } from "../../core/step-path.ts";
import type { StepRecord } from "../../store/store.ts";
import type { StepNode } from "../definition/step.ts";
import { type ActiveRun, type RunWith, reach } from "../run/active-run.ts";
import { cursorOf } from "../run/checkpoint-cursor.ts";
import { assertMayBegin } from "../run/deadline.ts";
import type { PendingSession } from "../run/session-keeper.ts";
import { announceCheckpoint } from "../turn/turn-session.ts";
import type { ContextHolder, Place } from "./step-executor.ts";
import type { StepRegistry } from "./step-registry.ts";
import { StepSession } from "./step-session.ts";

/**
 * Executes a step through the registry. A finished instance gives its stored output and context; a new or an
 * interrupted one runs on a copy of the context, and only success is merged and stored.
 */
export async function executeStep(registry: StepRegistry, step: StepNode, place: Place): Promise<Json> {
  const executor = registry.executorOf(step);
  const enter = (child: StepNode, childPlace: Place) => executeStep(registry, child, childPlace);
  const { run, context, input } = place;
  const session = new StepSession(run.keeper, run.policy.secrets);
  const phase = step.phase ?? place.phase ?? "";
  if (executor.storage === "none")
    return executor.execute(step, { ...place, phase, instance: null, session, enter });

  const path = childPath(place.path, step.name);
  const known = await run.store.findStep(run.runId, path);
  if (known?.status === "succeeded") {
    if (isJsonObject(known.context)) context.value = known.context;
    run.observe.emit({ type: "step.skipped", runId: run.runId, step: path });
    return known.output;
  }
  if (known === null) run.contract.budget.takeStep();
  const instance = await begin(run, step, path, phase, input);
  const isolated: ContextHolder = { value: structuredClone(context.value) };
  const frame = { run, path, phase, input: instance.input, context: isolated, instance, session, enter };
  const output = await attempt(run, path, async () => {
    const value: unknown = (await executor.execute(step, frame)) ?? null;
    assertPayload(value, `The output of step ${path}`);
    // What is secret is not stored, and the next step is given what whoever resumes would give it.
    isolated.value = run.policy.secrets.hide(isolated.value);
    return run.policy.secrets.hideLarge(value);
  });
  const type = phase !== "" && place.endsPhase !== false ? "phase_boundary" : "step_boundary";
  await finish(run, instance, { output, context, isolated, session, type });
  return output;
}

/** Names the step in whatever its code throws of its own; errors of ours say already what they are about. */
async function attempt(run: RunWith<"stop">, path: StepPath, work: () => Promise<Json>): Promise<Json> {
  try {
    return await work();
  } catch (error) {
    const isStopped =
      run.stop.signal.aborted || (run.stop.releasing.aborted && error === run.stop.releasing.reason);
    throw PawlError.isInstance(error) || isStopped ? error : stepFailed(error, path);
  }
}

export function stepFailed(error: unknown, step: string): StepFailedError {
  const message = error instanceof Error ? error.message : String(error);
  return new StepFailedError(`Step ${step} failed: ${message}`, { step }, { cause: error });
}

async function begin(
  run: ActiveRun,
  step: StepNode,
  path: StepPath,
  phase: string,
  input: Json,
): Promise<StepRecord> {
  run.stop.signal.throwIfAborted();
  assertMayBegin(run);
  const { name, kind } = step;
  const instance = await run.store.beginStep(run.fence, { path, name, kind, phase, input });
  reach(run, "step:begun", path, 0);
  run.observe.emit({ type: "step.started", runId: run.runId, step: path });
  return instance;
}

async function finish(
  run: ActiveRun,
  instance: StepRecord,
  { output, context, isolated, session, type }: StepEnd,
): Promise<void> {
  const changed = changedContext(context, isolated, instance.path);
  const { stepKey, path } = instance;
  await run.keeper.whileHeld(async () => {
    const planned = session.plan();
    const boundary = await boundaryOf(run, instance, planned, type);
    const committed = run.keeper.sessionCommit(planned, boundary);
    reach(run, "step:before-finish", path, 0);
    const { checkpoint } = await run.store.finishStep(run.fence, {
      stepKey,
      output,
      context: changed,
      ...(committed === undefined ? {} : { session: committed }),
    });
    reach(run, "step:finished", path, 0);
    run.keeper.markCommitted(planned, { hasCheckpoint: boundary !== null });
    if (boundary !== null && checkpoint !== null)
      await announceCheckpoint(run, { step: path, turn: 0 }, planned, {
        number: checkpoint,
        cursor: boundary.cursor,
      });
  });
  if (changed !== null) context.value = changed;
  run.observe.emit({ type: "step.finished", runId: run.runId, step: path });
}

/** How a step ended. */
type StepEnd = {
  readonly output: Json;
  /** The parent's context, which gets the step's own on success. */
  readonly context: ContextHolder;
  readonly isolated: ContextHolder;
  readonly session: StepSession;
  readonly type: BoundaryType;
};

type BoundaryType = "step_boundary" | "phase_boundary";

/**
 * A checkpoint at the end of a step, where it belongs to a phase, or the session holds more than the last one: a finished
 * step is never entered again, so nobody goes back to before its end.
 */
async function boundaryOf(
  run: ActiveRun,
  instance: StepRecord,
  { state }: PendingSession,
  type: BoundaryType,
): Promise<{ readonly type: BoundaryType; readonly cursor: JsonObject } | null> {
  const { keeper, store, runId } = run;
  if (instance.phase === "" && !(await keeper.isAheadOfCheckpoint(state))) return null;
  const last = keeper.lastToolCall ?? (await store.listToolCalls(runId)).at(-1)?.toolCallId ?? null;
  return { type, cursor: await cursorOf(run, instance, 0, last) };
}

/** The context that a step leaves, or null where it is what it was. A copy: the step's code may still hold its own. */
export function changedContext(
  before: ContextHolder,
  after: ContextHolder,
  path: StepPath,
): JsonObject | null {
  assertJson(after.value, `The context after step ${path}`);
  return canonicalJson(after.value) === canonicalJson(before.value) ? null : structuredClone(after.value);
}
