import { withoutVariables } from "../../core/job/blueprint-environment.ts";
import { contractOf } from "../../core/job/default-budgets.ts";
import { assertRunSpec, type RunSpec } from "../../core/job/run-spec.ts";
import type { Json } from "../../core/json.ts";
import { UNPRICED } from "../../core/usage/usage.ts";
import { makeRules } from "../definition/run-rules.ts";
import { assertRunnable, combineConstraints } from "../definition/run-spec-checks.ts";
import type { RunnerSetup } from "./runner-options.ts";
import { assertNoSecrets } from "./secret-input.ts";

/** The contract of a new run, which this runner can execute: the given one, with the default budgets of the runner. */
export function newContract(setup: RunnerSetup, given: unknown, input: Json): RunSpec | null {
  const own = given === undefined ? null : assertRunSpec(given);
  const spec = contractOf(own, setup.budgets, { pipeline: setup.root.name, input });
  if (spec !== null) assertSetupRuns(setup, spec);
  if (spec !== null) assertNoSecrets(withoutVariables(spec), setup.rules, "RunSpec");
  return spec;
}

/** Throws if this runner, with its options, cannot execute a run with this contract. */
export function assertSetupRuns({ root, options }: RunnerSetup, spec: RunSpec): void {
  const { pricing = UNPRICED, stopConditions, policy, constraints } = options;
  assertRunnable(spec, root, pricing, stopConditions);
  makeRules(policy, combineConstraints(constraints, spec));
}
