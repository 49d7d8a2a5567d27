import { childPath } from "../../core/step-path.ts";
import { firstPhase, instancesOf, lastPhase } from "../definition/pipeline/phases.ts";
import type { PipelineStep } from "../definition/step.ts";
import { canFinishEarly } from "../run/run-requirements.ts";
import type { StepExecutor } from "./step-executor.ts";

/**
 * Executes steps in order. A pipeline stores nothing itself: each step stores its output, and a finished one is not entered
 * again. The remaining steps are skipped as soon as the run can finish early.
 */
export const pipelineExecutor: StepExecutor<PipelineStep> = {
  storage: "none",
  async execute(pipeline, { run, context, enter, phase = "", endsPhase = true, ...execution }) {
    const path = pipeline.inline ? execution.path : childPath(execution.path, pipeline.name);
    let input = execution.input;
    for (const [i, step] of pipeline.children.entries()) {
      const next = pipeline.children[i + 1];
      const isLast = next === undefined ? endsPhase : firstPhase(next, phase) !== lastPhase(step, phase);
      input = await enter(step, { run, path, input, context, phase, endsPhase: isLast });
      if (next === undefined) break;
      const rest = pipeline.children.slice(i + 1).flatMap((each) => instancesOf(each, path, phase));
      if (!(await canFinishEarly(run, input, rest[0]))) continue;
      for (const skipped of rest) await run.store.skipStep(run.fence, skipped);
      break;
    }
    return input;
  },
};
