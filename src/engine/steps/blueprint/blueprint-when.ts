import type { BlueprintWhen } from "../../../core/job/blueprint.ts";
import { childPath } from "../../../core/step-path.ts";
import { earlierSteps } from "../../definition/earlier-steps.ts";
import { instancesOf } from "../../definition/phases.ts";
import type { StepNode } from "../../definition/step.ts";
import type { StepExecutor } from "../step-executor.ts";
import { holds } from "./blueprint-values.ts";

/** A step that is done only where an earlier one came to something. */
export interface WhenStep extends StepNode {
  readonly kind: "when";
  readonly children: readonly [StepNode];
  /** It has no part in the path of its step. */
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

/** Nothing of its own is stored: what it looks at never changes, so it is decided in the same way every time. */
export const whenExecutor: StepExecutor<WhenStep> = {
  storage: "none",
  async execute({ when, name, children: [step] }, { enter, instance: _, session: __, ...place }) {
    const { run, path, input, phase = "" } = place;
    const looked = await earlierSteps(run, childPath(path, name)).outputOf(when.step);
    if (looked !== null && holds(when, looked.output)) return enter(step, place);
    for (const skipped of instancesOf(step, path, phase)) await run.store.skipStep(run.fence, skipped);
    return input;
  },
};
