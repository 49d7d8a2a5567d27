import { MaxIterationsExceededError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { iterationPath } from "../../core/step-path.ts";
import type { LoopDecision } from "../../store/store.ts";
import type { LoopStep } from "../definition/step.ts";
import { reach } from "../run/active-run.ts";
import { canFinishEarly } from "../run/run-requirements.ts";
import { changedContext } from "./execute-step.ts";
import type { StepExecution, StepExecutor } from "./step-executor.ts";

/** Repeats the body until `until` returns true. Each decision is stored, so no iteration runs or is decided on twice. */
export const loopExecutor: StepExecutor<LoopStep> = {
  storage: "instance",
  async execute(loop: LoopStep, execution: StepExecution): Promise<Json> {
    const { run, instance, context } = execution;
    if (instance === null) throw new Error("A loop needs its stored instance.");
    const decisions = await run.store.listLoopDecisions(run.runId, instance.stepKey);
    for (const { context: changed } of decisions) if (isJsonObject(changed)) context.value = changed;
    let last: LoopDecision | undefined = decisions.at(-1);
    while (last?.done !== true) last = await iterate(loop, { ...execution, instance }, last);
    return last.output;
  },
};

async function iterate(
  loop: LoopStep,
  execution: StepExecution & { readonly instance: { readonly stepKey: number } },
  last: LoopDecision | undefined,
): Promise<LoopDecision> {
  const { run, context, path } = execution;
  const iteration = (last?.iteration ?? 0) + 1;
  if (iteration > loop.maxIterations) {
    throw new MaxIterationsExceededError(
      `Loop ${path} was not done after ${loop.maxIterations} iterations: raise maxIterations and resume, or change \`until\`.`,
      { maxIterations: loop.maxIterations, step: path },
    );
  }
  const before = { value: context.value };
  const output = await execution.enter(loop.children[0], {
    run,
    path: iterationPath(path, iteration),
    input: last === undefined ? execution.input : last.output,
    context,
    phase: execution.phase ?? "",
    endsPhase: false,
  });
  const isDone: unknown = await loop.until(
    output,
    await run.latest.withGranularState(structuredClone(context.value)),
  );
  if (typeof isDone !== "boolean")
    throw new TypeError(`\`until\` of loop ${path} returned ${typeof isDone}: return true or false.`);
  const done = isDone || (await canFinishEarly(run, output));
  const decision = {
    stepKey: execution.instance.stepKey,
    iteration,
    done,
    output,
    context: changedContext(before, context, path),
  };
  await run.store.decideLoop(run.fence, decision);
  reach(run, "loop:decided", path, iteration);
  return decision;
}
