import { ConfigurationError } from "../../core/errors.ts";
import { kindOf } from "../../core/naming/option-names.ts";
import { type Agent, isAgent } from "./agent.ts";
import { type PipelineStep, Step, type StepNode } from "./step.ts";

/** The root pipeline of a runner's target: an agent and a single step are wrapped. */
export function rootOf(target: Agent | StepNode): PipelineStep {
  if (typeof target !== "object" || target === null)
    throw new ConfigurationError("A runner needs something to run: give it an agent, a step or a pipeline.");
  if (!isAgent(target) && typeof target.kind !== "string")
    throw new ConfigurationError(
      `A runner got ${kindOf(target)} to run that is no agent, step or pipeline: make one with agent({ … }), Step or Pipeline.of(…).`,
    );
  if (isAgent(target)) return Step.granular(target.name, target);
  const step = target;
  const children = step.kind === "pipeline" ? (step.children ?? []) : [step];
  const { phase, stopConditions } = step as PipelineStep;
  return {
    kind: "pipeline",
    name: step.name,
    children,
    inline: true,
    ...(phase === undefined || step.kind !== "pipeline" ? {} : { phase }),
    ...(stopConditions === undefined ? {} : { stopConditions }),
  };
}
