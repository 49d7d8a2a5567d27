import { type StepPath, withoutIterations } from "../../core/step-path.ts";
import type { PipelineStep, StepNode } from "../../engine/definition/step.ts";

/** The phase of a step instance: its own, or that of the nearest step around it; null if there is none. */
export function phaseAt(root: StepNode, path: StepPath): string | null {
  let inside: StepInPhase = { step: root, phase: root.phase ?? null };
  for (const name of withoutIterations(path).split("/")) {
    const found: StepInPhase | undefined = children(inside).find(({ step }) => step.name === name);
    if (found === undefined) return inside.phase;
    inside = found;
  }
  return inside.phase;
}

type StepInPhase = { readonly step: StepNode; readonly phase: string | null };

/** The children of a step. An inline step is not part of the path: its children take its place and inherit its phase. */
function children({ step, phase }: StepInPhase): readonly StepInPhase[] {
  return (step.children ?? []).flatMap((child) => {
    const inside = { step: child, phase: child.phase ?? phase };
    return (child as Partial<PipelineStep>).inline === true ? children(inside) : [inside];
  });
}
