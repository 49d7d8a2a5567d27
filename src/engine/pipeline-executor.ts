import { childPath } from "../core/step-path.ts";
import type { PipelineStep } from "./step.ts";
import type { StepExecutor } from "./step-executor.ts";

/** Steps in order. Nothing of its own is stored: each step keeps its output, and a finished one is passed over. */
export const pipelineExecutor: StepExecutor<PipelineStep> = {
  storage: "none",
  async execute(pipeline, { run, context, enter, ...frame }) {
    const path = pipeline.inline ? frame.path : childPath(frame.path, pipeline.name);
    let input = frame.input;
    for (const step of pipeline.children) input = await enter(step, { run, path, input, context });
    return input;
  },
};
