import { ConfigurationError } from "../../core/errors.ts";
import type { StepNode } from "../definition/step.ts";
import type { StepExecutor } from "./step-executor.ts";

/** Maps a step's kind to its executor. There is no other place that knows about kinds. */
export class StepRegistry {
  readonly #executors: ReadonlyMap<string, StepExecutor<never>>;

  constructor(executors: { readonly [kind: string]: StepExecutor<never> }) {
    this.#executors = new Map(Object.entries(executors));
  }

  executorOf(step: StepNode): StepExecutor {
    const executor = this.#executors.get(step.kind);
    if (executor === undefined) {
      throw new ConfigurationError(
        `Nothing executes steps of kind "${step.kind}" (step ${step.name}): pass an executor for it in the runner's \`executors\`.`,
      );
    }
    return executor;
  }

  /** Refuses a pipeline with a kind of step that has no executor, before anything runs. */
  assertKnows(step: StepNode): void {
    this.executorOf(step);
    // The child of a turn loop is not a step that is looked up: its executor takes the turns itself.
    if (step.kind === "turn-loop") return;
    for (const child of step.children ?? []) this.assertKnows(child);
  }
}
