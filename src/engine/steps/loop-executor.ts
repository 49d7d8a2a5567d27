import { MaxIterationsExceededError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { iterationPath } from "../../core/step-path.ts";
import type { LoopDecision } from "../../store/store.ts";
import type { LoopStep } from "../definition/step.ts";
import { reach } from "../run/active-run.ts";
import { canFinishEarly } from "../run/run-requirements.ts";
import { changedContext } from "./execute-step.ts";
import type { Frame, StepExecutor } from "./step-executor.ts";

/** Runs the body until its predicate says so. Each decision is stored, so no iteration is judged or run twice. */
export const loopExecutor: StepExecutor<LoopStep> = {
  storage: "instance",
  async execute(loop: LoopStep, frame: Frame): Promise<Json> {
    const { run, instance, context } = frame;
    if (instance === null) throw new Error("A loop needs its stored instance.");
    const decisions = await run.store.listLoopDecisions(instance.stepKey);
    for (const { context: left } of decisions) if (isJsonObject(left)) context.value = left;
    let last: LoopDecision | undefined = decisions.at(-1);
    while (last?.done !== true) last = await iterate(loop, { ...frame, instance }, last);
    return last.output;
  },
};

async function iterate(
  loop: LoopStep,
  frame: Frame & { readonly instance: { readonly stepKey: number } },
  last: LoopDecision | undefined,
): Promise<LoopDecision> {
  const { run, context, path } = frame;
  const iteration = (last?.iteration ?? 0) + 1;
  if (iteration > loop.maxIterations) {
    throw new MaxIterationsExceededError(
      `Loop ${path} was not done after ${loop.maxIterations} iterations: raise maxIterations and resume, or change \`until\`.`,
      { maxIterations: loop.maxIterations, step: path },
    );
  }
  const before = { value: context.value };
  const output = await frame.enter(loop.children[0], {
    run,
    path: iterationPath(path, iteration),
    input: last === undefined ? frame.input : last.output,
    context,
    phase: frame.phase ?? "",
    endsPhase: false,
  });
  const said: unknown = await loop.until(
    output,
    await run.latest.withGranularState(structuredClone(context.value)),
  );
  if (typeof said !== "boolean")
    throw new TypeError(`\`until\` of loop ${path} returned ${typeof said}: return true or false.`);
  const done = said || (await canFinishEarly(run, output));
  const decision = {
    stepKey: frame.instance.stepKey,
    iteration,
    done,
    output,
    context: changedContext(before, context, path),
  };
  await run.store.decideLoop(run.fence, decision);
  reach(run, "loop:decided", path, iteration);
  return decision;
}
