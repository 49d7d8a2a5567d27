import { canonicalJson } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { describeSpecChanges, pipelineName, type RunSpec } from "../../core/job/run-spec.ts";
import { isWithinDomains } from "../../core/network-policy.ts";
import { type Pricing, priceOfModel } from "../../core/usage/usage.ts";
import type { RunRecord } from "../../store/store.ts";
import type { Constraints } from "./run-rules.ts";
import { modelsOf, type PipelineStep } from "./step.ts";
import { chooseConditions, type StopConditions } from "./stop-conditions.ts";

/** The constraints of the runner and of the run combined: an action that either forbids is forbidden. */
export function combineConstraints(own: Constraints = {}, spec: RunSpec | null): Constraints {
  if (spec === null) return own;
  const { allowedDomains, forbiddenActions, noDuplicateExternalActions } = spec.constraints;
  return {
    forbiddenActions: [...(own.forbiddenActions ?? []), ...forbiddenActions],
    allowedDomains: intersectDomains(own.allowedDomains ?? [], allowedDomains),
    noDuplicateExternalActions: own.noDuplicateExternalActions === true || noDuplicateExternalActions,
  };
}

/** The hosts that both lists allow. An empty list allows every public host. */
export function intersectDomains(ours: readonly string[], theirs: readonly string[]): readonly string[] {
  if (ours.length === 0) return theirs;
  if (theirs.length === 0) return ours;
  const both = [
    ...theirs.filter((domain) => isWithinDomains(domain, ours)),
    ...ours.filter((domain) => !theirs.includes(domain) && isWithinDomains(domain, theirs)),
  ];
  if (both.length > 0) return both;
  throw new ConfigurationError(
    `No domain is allowed by both the configuration (${ours.join(", ")}) and the RunSpec (${theirs.join(", ")}): allow at least one domain in both.`,
  );
}

/** The stop conditions of a run, looked up among those of the pipeline and of the configuration. */
export function conditionsOf(
  spec: RunSpec | null,
  root: PipelineStep,
  configured: StopConditions = {},
): StopConditions {
  return chooseConditions(spec?.stopConditions ?? [], { ...configured, ...root.stopConditions });
}

/** Throws if this pipeline cannot run the spec. Called before the run is created. */
export function assertRunnable(
  spec: RunSpec,
  root: PipelineStep,
  pricing: Pricing,
  configured: StopConditions | undefined,
): void {
  const wanted = pipelineName(spec);
  if (wanted !== null && wanted !== root.name)
    throw new ConfigurationError(
      `The RunSpec is for pipeline ${wanted}, and this is ${root.name}: use a runner of that pipeline.`,
    );
  conditionsOf(spec, root, configured);
  if (spec.budgets.maxCostUsd === null) return;
  const unpriced = modelsOf(root).find(({ modelId }) => priceOfModel(pricing, modelId) === undefined);
  if (unpriced !== undefined)
    throw new ConfigurationError(
      `The RunSpec has maxCostUsd, and model ${unpriced.modelId} has no price: give the Runner or pawl.config.ts a \`pricing\` that has it (import { pricesFor } from "pawl/prices" for the usual models), or use maxTokens.`,
    );
}

/** Throws if the RunSpec is not the one that the run was started with. */
export function assertSameSpec({ runId, spec: was }: RunRecord, is: RunSpec): void {
  if (isSameSpec(was, is)) return;
  if (was === null)
    throw new ConfigurationError(
      `Run ${runId} was started without a RunSpec, which does not change: use another run id.`,
    );
  const changes = describeSpecChanges(was, is);
  const described = changes.map(
    ({ path, was: before, is: after }) =>
      `${path} was ${JSON.stringify(before)} and is ${JSON.stringify(after)}`,
  );
  throw new ConfigurationError(
    `Run ${runId} was started with another RunSpec, which does not change: ${described.join("; ")}. Restore it, or use another run id.`,
    { changes },
  );
}

export function isSameSpec(was: RunSpec | null, is: RunSpec | null): boolean {
  return canonicalJson(was) === canonicalJson(is);
}
