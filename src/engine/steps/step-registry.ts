import { ConfigurationError } from "../../core/errors.ts";
import type { StepNode } from "../definition/step.ts";
import type { StepExecutor } from "./step-executor.ts";

/** Maps the kind of a step to its executor. Nothing else looks at kinds to execute a step. */
export class StepRegistry {
  readonly #executors: ReadonlyMap<string, StepExecutor<never>>;

  constructor(executors: { readonly [kind: string]: StepExecutor<never> }) {
    this.#executors = new Map(Object.entries(executors));
  }

  executorOf(step: StepNode): StepExecutor {
    const executor = this.#executors.get(step.kind);
    if (executor === undefined) {
      throw new ConfigurationError(
        `There is no executor for steps of kind "${step.kind}" (step ${step.name}): pass one in the runner's \`executors\`.`,
      );
    }
    return executor;
  }

  /** Throws if any step of the pipeline has no executor. Called before anything runs. */
  assertKnows(step: StepNode): void {
    this.executorOf(step);
    // The child of a turn loop is never looked up: the loop's executor executes the turns itself.
    if (step.kind === "turn-loop") return;
    for (const child of step.children ?? []) this.assertKnows(child);
  }
}
