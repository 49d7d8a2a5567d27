import { childPath, type StepPath } from "../../../core/step-path.ts";
import type { NewStep } from "../../../store/store.ts";
import type { StepNode } from "../step.ts";

/** The phase in which a step begins. A step without a phase inherits that of its parent. */
export function firstPhase(step: StepNode, inherited: string): string {
  return phaseAt(step, inherited, 0);
}

/** The phase in which a step ends. */
export function lastPhase(step: StepNode, inherited: string): string {
  return phaseAt(step, inherited, -1);
}

function phaseAt(step: StepNode, inherited: string, end: 0 | -1): string {
  const phase = step.phase ?? inherited;
  const child = step.kind === "pipeline" ? step.children?.at(end) : undefined;
  return child === undefined ? phase : phaseAt(child, phase, end);
}

/** The phases of a pipeline, in order, each once. */
export function phasesOf(step: StepNode, inherited = ""): readonly string[] {
  const phase = step.phase ?? inherited;
  const children = step.children ?? [];
  const inside = children.length === 0 ? [phase] : children.flatMap((child) => phasesOf(child, phase));
  return [...new Set([...(step.phase === undefined ? [] : [step.phase]), ...inside])].filter(
    (each) => each !== "",
  );
}

/** The step instances that entering a step would begin, as far as they are known beforehand. */
export function instancesOf(step: StepNode, parent: StepPath, inherited: string): readonly NewStep[] {
  const phase = step.phase ?? inherited;
  if (step.kind === "pipeline") {
    const isInline = "inline" in step && step.inline === true;
    const path = isInline ? parent : childPath(parent, step.name);
    return (step.children ?? []).flatMap((child) => instancesOf(child, path, phase));
  }
  return [{ path: childPath(parent, step.name), name: step.name, kind: step.kind, phase, input: null }];
}
