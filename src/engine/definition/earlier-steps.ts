import type { Json } from "../../core/json.ts";
import { childPath, parentPath, ROOT_PATH, type StepPath } from "../../core/step-path.ts";
import type { StoreReader } from "../../store/store.ts";

/** The inputs and outputs that a step can read back. */
export interface EarlierSteps {
  /** The input of the run. */
  runInput(): Promise<Json>;
  /**
   * The output of the step of that name: the nearest one that has succeeded among the siblings of this step and of its
   * parents. Null if there is none.
   */
  outputOf(stepName: string): Promise<{ readonly output: Json } | null>;
}

/** The earlier steps, as seen from the step at this path. */
export function earlierSteps(
  { store, runId }: { readonly store: StoreReader; readonly runId: string },
  path: StepPath,
): EarlierSteps {
  return {
    runInput: async () => (await store.readRunInput(runId)).input,
    outputOf: async (stepName) => {
      for (let at = path; at !== ROOT_PATH; ) {
        at = parentPath(at);
        const step = await store.findStep(runId, childPath(at, stepName));
        if (step?.status === "succeeded") return { output: step.output };
      }
      return null;
    },
  };
}
