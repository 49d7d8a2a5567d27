import { type StepPath, withoutIterations } from "../../core/step-path.ts";
import type { PipelineStep, StepNode } from "../../engine/definition/step.ts";

/** The phase that a step instance is in: its own, or that of the step around it; null where there is none. */
export function phaseAt(root: StepNode, path: StepPath): string | null {
  let inside: Inside = { step: root, phase: root.phase ?? null };
  for (const name of withoutIterations(path).split("/")) {
    const found: Inside | undefined = children(inside).find(({ step }) => step.name === name);
    if (found === undefined) return inside.phase;
    inside = found;
  }
  return inside.phase;
}

type Inside = { readonly step: StepNode; readonly phase: string | null };

/** What is only a wrapping has no part in the path, and gives its phase to what it wraps. */
function children({ step, phase }: Inside): readonly Inside[] {
  return (step.children ?? []).flatMap((child) => {
    const inside = { step: child, phase: child.phase ?? phase };
    return (child as Partial<PipelineStep>).inline === true ? children(inside) : [inside];
  });
}
