import { ConfigurationError } from "../../core/errors.ts";
import type { StepNode } from "../definition/step.ts";
import type { RunWith } from "../run/active-run.ts";

/**
 * Checks, before the first step of a run begins, that its steps can be executed. Otherwise a mistake in the last step would
 * show up after the effects of all others, when the contract cannot be corrected any more. Steps that may be skipped are
 * checked when they begin.
 */
export async function assertFeasible(
  { runId, sources }: RunWith<"runId" | "sources">,
  root: StepNode,
): Promise<void> {
  const found = await Promise.all(
    unconditional(root).map(async (step) => (await step.problems?.(sources)) ?? []),
  );
  const problems = found.flat();
  if (problems.length === 0) return;
  throw new ConfigurationError(
    `No step of run ${runId} was begun: ${problems.join(" ")} Correct that, and start a new run.`,
  );
}

function unconditional(step: StepNode): readonly StepNode[] {
  if (step.kind === "when") return [];
  return [step, ...(step.children ?? []).flatMap(unconditional)];
}
