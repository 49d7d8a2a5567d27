import type { Json } from "../../core/json.ts";
import type { StopConditions } from "./stop-conditions.ts";
import type { Tool } from "./tool.ts";
import type { OpenSources } from "./tool-source.ts";

/**
 * A step, as data. The registry maps its `kind` to an executor, so a step kind of your own is an object like this and an
 * executor.
 */
export interface StepNode<O = unknown> {
  readonly kind: string;
  readonly name: string;
  /** Groups steps for people: `plan`, `crawl`, `render` … */
  readonly phase?: string;
  /** The steps inside this one. They are part of the pipeline's pinned shape. */
  readonly children?: readonly StepNode[];
  /** Finds problems before the first step of a run begins. Returns one sentence for each. */
  readonly problems?: (sources: OpenSources) => Promise<readonly string[]>;
  /** The tools that the step itself calls, by name, if they are known beforehand. By default it may call any tool. */
  readonly tools?: (sources: OpenSources) => Promise<{ readonly [name: string]: Tool }>;
  /** Type only: never has a value. The output is read back from the store, so it is JSON: a `Date` is a string. */
  readonly outputType?: O;
}

/**
 * A step that states the type of its input, so that a pipeline can check what it is given. A step of your own that extends
 * `StepNode` instead may follow any step.
 */
export interface WiredStep<O = unknown, I = Json> extends StepNode<O> {
  /** Type only: never has a value. */
  readonly inputType?: (input: I) => void;
}

/** Steps in order. */
export interface PipelineStep<O = unknown, I = never> extends WiredStep<O, I> {
  readonly kind: "pipeline";
  readonly children: readonly StepNode[];
  /** True for a mere wrapper: its name is not part of the paths of its steps. */
  readonly inline: boolean;
  /** The stop conditions that a RunSpec may name. */
  readonly stopConditions?: StopConditions;
}
