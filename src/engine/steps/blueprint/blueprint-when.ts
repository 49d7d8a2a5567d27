import type { BlueprintWhen } from "../../../core/job/blueprint.ts";
import { childPath } from "../../../core/step-path.ts";
import { earlierSteps } from "../../definition/earlier-steps.ts";
import { instancesOf } from "../../definition/pipeline/phases.ts";
import type { StepNode } from "../../definition/step.ts";
import type { StepExecutor } from "../step-executor.ts";
import { holds } from "./blueprint-values.ts";

/** A step that is executed only if the output of an earlier step fulfils a condition, and is skipped otherwise. */
export interface WhenStep extends StepNode {
  readonly kind: "when";
  readonly children: readonly [StepNode];
  /** It adds nothing to the path of its child. */
  readonly inline: true;
  readonly when: BlueprintWhen;
}

export function whenStep(step: StepNode, when: BlueprintWhen): WhenStep {
  const { name, phase } = step;
  return {
    kind: "when",
    name,
    children: [step],
    inline: true,
    when,
    ...(phase === undefined ? {} : { phase }),
  };
}

/** The condition's outcome is not stored: it depends on a stored output, which never changes. */
export const whenExecutor: StepExecutor<WhenStep> = {
  storage: "none",
  async execute({ when, name, children: [step] }, { enter, instance: _, session: __, ...entry }) {
    const { run, path, input, phase = "" } = entry;
    const earlier = await earlierSteps(run, childPath(path, name)).outputOf(when.step);
    if (earlier !== null && holds(when, earlier.output)) return enter(step, entry);
    for (const skipped of instancesOf(step, path, phase)) await run.store.skipStep(run.fence, skipped);
    return input;
  },
};
