import { assertJson, assertPayload, canonicalJson } from "../../core/canonical-json.ts";
import { PawlError, StepFailedError } from "../../core/errors.ts";
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from "../../core/json.ts";
import { childPath, type StepPath } from "../../core/step-path.ts";
import type { StepRecord } from "../../store/store.ts";
import type { StepNode } from "../definition/step.ts";
import { type RunWith, reach } from "../run/active-run.ts";
import { cursorOf } from "../run/checkpoint-cursor.ts";
import { assertMayBegin } from "../run/deadline.ts";
import type { PendingSession } from "../run/session-keeper.ts";
import { announceCheckpoint } from "../turn/turn-session.ts";
import type { ContextHolder, StepEntry } from "./step-executor.ts";
import type { StepRegistry } from "./step-registry.ts";
import { StepSession } from "./step-session.ts";

/**
 * Executes a step with the executor of its kind. A finished instance returns its stored output and context. A new or an
 * interrupted one runs on a copy of the context, which is merged and stored only on success.
 */
export async function executeStep(registry: StepRegistry, step: StepNode, entry: StepEntry): Promise<Json> {
  const executor = registry.executorOf(step);
  const enter = (child: StepNode, childEntry: StepEntry) => executeStep(registry, child, childEntry);
  const { run, context, input } = entry;
  const session = new StepSession(run.keeper, run.policy.secrets);
  const phase = step.phase ?? entry.phase ?? "";
  if (executor.storage === "none")
    return executor.execute(step, { ...entry, phase, instance: null, session, enter });

  const path = childPath(entry.path, step.name);
  const known = await run.store.findStep(run.runId, path);
  if (known?.status === "succeeded") {
    if (isJsonObject(known.context)) context.value = known.context;
    run.observe.emit({ type: "step.skipped", runId: run.runId, step: path });
    return known.output;
  }
  if (known === null) run.contract.budget.takeStep();
  const instance = await begin(run, step, path, phase, input);
  const ownContext: ContextHolder = { value: structuredClone(context.value) };
  const execution = {
    run,
    path,
    phase,
    input: instance.input,
    context: ownContext,
    instance,
    session,
    enter,
  };
  const output = await namingStep(run, path, async () => {
    const value = withoutUndefined((await executor.execute(step, execution)) ?? null);
    assertPayload(value, `The output of step ${path}`);
    // Secrets are not stored. The next step gets the redacted values too, just as after a resume.
    ownContext.value = run.policy.secrets.hide(ownContext.value);
    return run.policy.secrets.hideLarge(value);
  });
  const type = phase !== "" && entry.endsPhase !== false ? "phase_boundary" : "step_boundary";
  await finish(run, instance, { output, context, ownContext, session, type });
  return output;
}

/** Wraps what the step's code throws in an error that names the step. Errors of Pawl pass as they are. */
async function namingStep(run: RunWith<"stop">, path: StepPath, work: () => Promise<Json>): Promise<Json> {
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
  run: RunWith<"runId" | "fence" | "store" | "contract" | "time" | "stop" | "observe">,
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
  run: RunWith<"runId" | "fence" | "store" | "contract" | "artifacts" | "keeper" | "observe">,
  instance: StepRecord,
  { output, context, ownContext, session, type }: StepEnd,
): Promise<void> {
  const changed = changedContext(context, ownContext, instance.path);
  const { stepKey, path } = instance;
  await run.keeper.whileHeld(async () => {
    await run.keeper.lateCheckpoint();
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

/** The end of a step that succeeded. */
type StepEnd = {
  readonly output: Json;
  /** The parent's context, which the step's own replaces. */
  readonly context: ContextHolder;
  readonly ownContext: ContextHolder;
  readonly session: StepSession;
  readonly type: BoundaryType;
};

type BoundaryType = "step_boundary" | "phase_boundary";

/**
 * The checkpoint at the end of a step; null if the step has no phase and the session has not changed since the last
 * checkpoint. It is needed because a finished step is never executed again: no resume starts before its end.
 */
async function boundaryOf(
  run: RunWith<"runId" | "store" | "contract" | "artifacts" | "keeper">,
  instance: StepRecord,
  { state }: PendingSession,
  type: BoundaryType,
): Promise<{ readonly type: BoundaryType; readonly cursor: JsonObject } | null> {
  const { keeper, store, runId } = run;
  if (instance.phase === "" && !(await keeper.isAheadOfCheckpoint(state))) return null;
  const last = keeper.lastToolCall ?? (await store.listToolCalls(runId)).at(-1)?.toolCallId ?? null;
  return { type, cursor: await cursorOf(run, instance, 0, last) };
}

/** A copy of the context after a step, since the step's code may still hold it; null if it did not change. */
export function changedContext(
  before: ContextHolder,
  after: ContextHolder,
  path: StepPath,
): JsonObject | null {
  assertJson(after.value, `The context after step ${path}`);
  return canonicalJson(after.value) === canonicalJson(before.value) ? null : structuredClone(after.value);
}
