import type { Json } from "../../core/json.ts";
import { childPath, parentPath, ROOT_PATH, type StepPath } from "../../core/step-path.ts";
import type { StoreReader } from "../../store/store.ts";

/** What a step may look back at. */
export interface EarlierSteps {
  /** What the run was given. */
  runInput(): Promise<Json>;
  /**
   * What the step of that name came to: the nearest one that is done, beside this step or beside one that it is inside of.
   * Null where there is none.
   */
  outputOf(stepName: string): Promise<{ readonly output: Json } | null>;
}

/** What the step at this path may look back at. */
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
