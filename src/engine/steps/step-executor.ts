import type { Json, JsonObject } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { StepRecord } from "../../store/store.ts";
import type { StepNode } from "../definition/step.ts";
import type { ActiveRun } from "../run/active-run.ts";
import type { StepSession } from "./step-session.ts";

/** Executes the steps of one kind. Give your own to the runner's `executors`. */
export interface StepExecutor<S extends StepNode = StepNode> {
  /**
   * `instance`: the store records the step's beginning, end and output, and a finished step is never executed again.
   * `none`: nothing is stored for the step itself, only for its children.
   */
  readonly storage: "instance" | "none";
  /** Resolves to the step's output. */
  execute(step: S, execution: StepExecution): Promise<Json>;
}

/** One execution of a step, as its executor gets it. */
export type StepExecution = StepEntry & {
  /** The stored instance; null for executors with storage `none`. */
  readonly instance: StepRecord | null;
  /** The run's session. Events that the step dispatches take effect when it is finished. */
  readonly session: StepSession;
  /** Executes a child step with the executor of its kind, and resolves to its output. */
  readonly enter: (child: StepNode, entry: StepEntry) => Promise<Json>;
};

/** How a step is entered by its parent. */
export type StepEntry = {
  readonly run: ActiveRun;
  /** The parent's path. In the execution of a step with storage `instance`: the step's own. */
  readonly path: StepPath;
  readonly input: Json;
  /** The step's copy of the context. It is merged into the parent's when the step succeeds. */
  readonly context: ContextHolder;
  /** The parent's phase, for steps that name none. By default "", no phase. */
  readonly phase?: string;
  /** True if the phase ends with this step, the default: its checkpoint is then a phase boundary. */
  readonly endsPhase?: boolean;
};

/** Holds a context. A change replaces the value and never mutates it: code that holds the old value keeps it. */
export type ContextHolder = { value: JsonObject };
