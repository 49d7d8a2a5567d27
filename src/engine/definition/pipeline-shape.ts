import { ResumeError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { childPath, ROOT_PATH, type StepPath, withoutIterations } from "../../core/step-path.ts";
import type { PipelineStep, StepNode } from "./step.ts";

type ShapeEntry = { readonly path: StepPath; readonly kind: string };

/** The names and kinds of all steps, outermost first: pinned when the run starts. What is only a wrapping is left out. */
export function shapeOf(step: StepNode, parent: StepPath = ROOT_PATH): ShapeEntry[] {
  const inline = isInline(step);
  const path = inline ? parent : childPath(parent, step.name);
  const children = (step.children ?? []).flatMap((child) => shapeOf(child, path));
  return inline ? children : [{ path, kind: step.kind }, ...children];
}

function isInline(step: StepNode): boolean {
  return (step as Partial<PipelineStep>).inline === true;
}

/**
 * Refuses to go on when a step that the run has reached is not what it was. Steps after it may differ: nothing of
 * theirs has happened, and what they are now is pinned for the next worker. What was reached is told by all instances
 * begun, not by the current one alone: that may be a loop that was entered again, or the first step of an iteration
 * whose others ran in the iteration before.
 */
export function assertSameShape(
  runId: string,
  pinned: Json,
  present: StepNode,
  begun: readonly { readonly path: StepPath }[],
): void {
  const reached = new Set(begun.map(({ path }) => withoutIterations(path)));
  const was = pinned as readonly ShapeEntry[];
  const is = shapeOf(present);
  const known = was.findLastIndex(({ path }) => reached.has(path)) + 1;
  const changes = Array.from({ length: known }, (_, i) => ({
    what: `step ${i + 1}`,
    was: show(was[i]),
    is: show(is[i]),
  })).filter((change) => change.was !== change.is);
  if (changes.length === 0) return;
  const described = changes
    .map(({ what, was: before, is: after }) => `${what} was ${before} and is ${after}`)
    .join("; ");
  throw new ResumeError(
    `Run ${runId} cannot go on: its pipeline is not what it was as far as the run has come: ${described}. No call was made; put it back and resume, or start a new run.`,
    { irrecoverable: true, changes },
  );
}

function show(entry: ShapeEntry | undefined): string {
  return entry === undefined ? "(absent)" : `${entry.path} (${entry.kind})`;
}
