import type { Change } from "../../../core/errors.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import type { StepPath } from "../../../core/step-path.ts";

/**
 * What becomes of a run whose prompt, model or tools have changed since its step began.
 *
 * - `fail`: it fails, and says what has changed. Nothing was called.
 * - `wait`: it waits for a person, who accepts the change, goes back to the last milestone, or undoes the change.
 * - `milestone`: it continues from the last milestone of its session, with the new agent.
 * - `accept`: it continues where it is, with the new agent; that is recorded.
 */
export type DivergenceAction = "fail" | "wait" | "milestone" | "accept";

/** A step of a run that is no longer what it was when it began. */
export type Divergence = {
  readonly runId: string;
  readonly step: StepPath;
  /** What has changed: the old value and the new one. */
  readonly changes: readonly Change[];
};

/** One action for all, or a function that decides for each. */
export type DivergencePolicy =
  | DivergenceAction
  | ((divergence: Divergence) => DivergenceAction | Promise<DivergenceAction>);

const ACTIONS: readonly string[] = ["fail", "wait", "milestone", "accept"] satisfies DivergenceAction[];

export function assertDivergencePolicy(policy: unknown): void {
  if (policy === undefined || typeof policy === "function") return;
  if (typeof policy === "string" && ACTIONS.includes(policy)) return;
  throw new ConfigurationError(
    `onDivergence is ${JSON.stringify(policy)}: use ${ACTIONS.map((each) => `"${each}"`).join(", ")}, or a function that returns one of them.`,
  );
}

/** One policy for all pipelines, or one for each. */
export function assertDivergencePolicies(policies: unknown): void {
  if (typeof policies !== "object" || policies === null) assertDivergencePolicy(policies);
  else Object.values(policies).forEach(assertDivergencePolicy);
}

/** The action for this divergence. */
export async function actionFor(policy: DivergencePolicy, divergence: Divergence): Promise<DivergenceAction> {
  const action: unknown = typeof policy === "function" ? await policy(divergence) : policy;
  assertDivergencePolicy(action ?? null);
  return action as DivergenceAction;
}
