import type { JsonObject } from "../json.ts";
import { finalOutputOf, requiredOutputs } from "./run-outputs.ts";
import type { RunSpec } from "./run-spec.ts";

/**
 * What a checkpoint says of the contract of its run: what the run must achieve and produce, and within which limits. It
 * is the same for all checkpoints of a run.
 */
export function contractSummary({ objective, budgets, stopConditions, artifacts }: RunSpec): JsonObject {
  return {
    objective,
    stopConditions,
    expectedOutputs: requiredOutputs(artifacts),
    finalOutput: finalOutputOf(artifacts),
    budgets: Object.fromEntries(Object.entries(budgets).filter(([, limit]) => typeof limit === "number")),
  };
}
