import { ResumeError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { childPath, ROOT_PATH, type StepPath, withoutIterations } from "../../../core/step-path.ts";
import type { PipelineStep, StepNode } from "../step.ts";

type ShapeEntry = { readonly path: StepPath; readonly kind: string };

/** The paths and kinds of all steps, parents first; pinned when the run starts. Inline pipelines are left out. */
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
 * Throws if a step that the run has reached has changed. Later steps may differ: they have not begun, and their present
 * shape is pinned for the next worker. All instances begun count as reached, not just the current one: that may be a
 * loop that was entered again, or the first step of an iteration whose other steps ran in the previous iteration.
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
    `Run ${runId} cannot resume: its pipeline has changed in steps that the run has reached: ${described}. No call was made; restore the pipeline and resume, or start a new run.`,
    { irrecoverable: true, changes },
  );
}

function show(entry: ShapeEntry | undefined): string {
  return entry === undefined ? "(absent)" : `${entry.path} (${entry.kind})`;
}
