import type { Json } from "../../core/json.ts";
import { childPath, parentPath, ROOT_PATH, type StepPath } from "../../core/step-path.ts";
import type { StoreReader } from "../../store/store.ts";
import type { PipelineStep, StepNode } from "./step-node.ts";

/** The inputs and outputs that a step can read back. */
export interface EarlierSteps {
  /** The input of the run. */
  runInput(): Promise<Json>;
  /**
   * The output of a step, by its name or, with its type, by the step itself: the nearest one of that name that has
   * succeeded among the siblings of this step and of its parents. Null if there is none.
   *
   * @example
   * const drafted = await ctx.outputOf(draft);
   */
  outputOf(stepName: string): Promise<{ readonly output: Json } | null>;
  outputOf<O>(step: StepNode<O>): Promise<{ readonly output: O } | null>;
}

/** The earlier steps, as seen from the step at this path. */
export function earlierSteps(
  { store, runId }: { readonly store: StoreReader; readonly runId: string },
  path: StepPath,
): EarlierSteps {
  return {
    runInput: async () => (await store.readRunInput(runId)).input,
    // The stored output is what the step returned, after JSON.
    outputOf: async (named: string | StepNode): Promise<{ readonly output: never } | null> => {
      for (let at = path; at !== ROOT_PATH; ) {
        at = parentPath(at);
        const step = await store.findStep(runId, storedPath(at, named));
        if (step?.status === "succeeded") return { output: step.output as never };
      }
      return null;
    },
  };
}

/** The path that a step's output is stored at. A pipeline stores nothing itself: its output is that of its last step. */
function storedPath(parent: StepPath, step: string | StepNode): StepPath {
  if (typeof step === "string") return childPath(parent, step);
  const last = step.kind === "pipeline" ? step.children?.at(-1) : undefined;
  if (last === undefined) return childPath(parent, step.name);
  const { inline = false } = step as Partial<PipelineStep>;
  return storedPath(inline ? parent : childPath(parent, step.name), last);
}
