import type { StepNode } from "../definition/step.ts";
import type { StepExecutor } from "./step-executor.ts";
import { unknownKind } from "./step-kinds.ts";

/** Maps the kind of a step to its executor. Nothing else looks at kinds to execute a step. */
export class StepRegistry {
  readonly #executors: ReadonlyMap<string, StepExecutor<never>>;

  constructor(executors: { readonly [kind: string]: StepExecutor<never> }) {
    this.#executors = new Map(Object.entries(executors));
  }

  executorOf(step: StepNode): StepExecutor {
    const executor = this.#executors.get(step.kind);
    if (executor === undefined) throw unknownKind(step);
    return executor;
  }
}
