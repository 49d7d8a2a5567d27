import type { Json, JsonObject } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import type { StepRecord } from "../../store/store.ts";
import type { StepNode } from "../definition/step.ts";
import type { ActiveRun } from "../run/active-run.ts";
import type { StepSession } from "./step-session.ts";

/** How steps of one kind are executed. */
export interface StepExecutor<S extends StepNode = StepNode> {
  /**
   * `instance`: the step is begun and finished in the store, its output is kept, and a finished one is never entered
   * again. `none`: the step only passes on to its children.
   */
  readonly storage: "instance" | "none";
  /** Resolves to the step's output. */
  execute(step: S, frame: Frame): Promise<Json>;
}

/** Where an executor stands: the run, the place in it, the input, and a context of its own. */
export type Frame = Place & {
  /** The stored instance, for executors with storage `instance`. */
  readonly instance: StepRecord | null;
  /** What the step does to the session: takes effect when it is finished. */
  readonly session: StepSession;
  /** Executes a child through the registry. */
  readonly enter: (child: StepNode, place: Place) => Promise<Json>;
};

export type Place = {
  readonly run: ActiveRun;
  readonly path: StepPath;
  readonly input: Json;
  /** This step's copy; merged into the parent's when the step succeeds. */
  readonly context: ContextHolder;
  /** The phase that the step is in, unless it says so itself. */
  readonly phase?: string;
  /** Whether the phase ends with this step. */
  readonly endsPhase?: boolean;
};

/** The context is replaced, not changed in place, so that whoever holds the old one keeps it. */
export type ContextHolder = { value: JsonObject };
