import { ResumeError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { childPath, ROOT_PATH, type StepPath, withoutIterations } from "../core/step-path.ts";
import type { PipelineStep, StepNode } from "./step.ts";

type ShapeEntry = { readonly path: StepPath; readonly kind: string };

/** The names and kinds of all steps, outermost first: pinned when the run starts. */
export function shapeOf(step: StepNode, parent: StepPath = ROOT_PATH): ShapeEntry[] {
  const path = isInline(step) ? parent : childPath(parent, step.name);
  return [{ path, kind: step.kind }, ...(step.children ?? []).flatMap((child) => shapeOf(child, path))];
}

function isInline(step: StepNode): boolean {
  return (step as Partial<PipelineStep>).inline === true;
}

/**
 * Refuses to go on when a step that the run has reached is not what it was. Steps after the current one may differ:
 * nothing of theirs has happened.
 */
export function assertSameShape(
  runId: string,
  stored: Json,
  present: StepNode,
  currentStep: StepPath | null,
): void {
  if (currentStep === null) return;
  const was = stored as readonly ShapeEntry[];
  const is = shapeOf(present);
  const current = was.findIndex((entry) => entry.path === withoutIterations(currentStep));
  const reached = current === -1 ? was.length : current + 1;
  const changes = Array.from({ length: reached }, (_, i) => ({
    what: `step ${i + 1}`,
    was: show(was[i]),
    is: show(is[i]),
  })).filter((change) => change.was !== change.is);
  if (changes.length === 0) return;
  const described = changes
    .map(({ what, was: before, is: after }) => `${what} was ${before} and is ${after}`)
    .join("; ");
  throw new ResumeError(
    `Run ${runId} cannot go on: its pipeline is not what it was up to step ${currentStep}: ${described}. No call was made; put it back, or start a new run.`,
    { irrecoverable: true, changes },
  );
}

function show(entry: ShapeEntry | undefined): string {
  return entry === undefined
    ? "(absent)"
    : `${entry.path === ROOT_PATH ? "(pipeline)" : entry.path} (${entry.kind})`;
}
