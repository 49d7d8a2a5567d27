import type { Json } from "../../core/json.ts";
import type { PipelineStep, StepNode, WiredStep } from "./step-node.ts";

/**
 * A step that takes `A`, the output of the step before it. A step that does not state its output may come before any step.
 * `NoInfer`: the step before it alone decides what `A` is.
 */
export type After<A, B> = unknown extends A ? StepNode<B> : WiredStep<B, NoInfer<A>>;

type OutputOfLast<S extends readonly StepNode[]> = S extends readonly [...StepNode[], StepNode<infer O>]
  ? O
  : unknown;

/**
 * Steps in order; each one's input is the output of the step before it. A step that does not fit is a type error.
 *
 * One signature for each number of steps: only so does TypeScript infer the input of `Step.run("two", (input) => …)` from
 * the step before it, and report a mismatch at the step. A mapped tuple does the second, not the first.
 *
 * @example
 * const report = Pipeline.of("report", Step.granular("write", writer), Step.run("count", (text) => text.length));
 */
export interface PipelineOf {
  <A, IN = Json>(name: string, ...steps: [WiredStep<A, IN>]): PipelineStep<A, IN>;
  <A, B, IN = Json>(name: string, ...steps: [WiredStep<A, IN>, After<A, B>]): PipelineStep<B, IN>;
  <A, B, C, IN = Json>(
    name: string,
    ...steps: [WiredStep<A, IN>, After<A, B>, After<B, C>]
  ): PipelineStep<C, IN>;
  <A, B, C, D, IN = Json>(
    name: string,
    ...steps: [WiredStep<A, IN>, After<A, B>, After<B, C>, After<C, D>]
  ): PipelineStep<D, IN>;
  <A, B, C, D, E, IN = Json>(
    name: string,
    ...steps: [WiredStep<A, IN>, After<A, B>, After<B, C>, After<C, D>, After<D, E>]
  ): PipelineStep<E, IN>;
  <A, B, C, D, E, F, IN = Json>(
    name: string,
    ...steps: [WiredStep<A, IN>, After<A, B>, After<B, C>, After<C, D>, After<D, E>, After<E, F>]
  ): PipelineStep<F, IN>;
  <A, B, C, D, E, F, G, IN = Json>(
    name: string,
    ...steps: [WiredStep<A, IN>, After<A, B>, After<B, C>, After<C, D>, After<D, E>, After<E, F>, After<F, G>]
  ): PipelineStep<G, IN>;
  <A, B, C, D, E, F, G, H, IN = Json>(
    name: string,
    ...steps: [
      WiredStep<A, IN>,
      After<A, B>,
      After<B, C>,
      After<C, D>,
      After<D, E>,
      After<E, F>,
      After<F, G>,
      After<G, H>,
    ]
  ): PipelineStep<H, IN>;
  <A, B, C, D, E, F, G, H, I, IN = Json>(
    name: string,
    ...steps: [
      WiredStep<A, IN>,
      After<A, B>,
      After<B, C>,
      After<C, D>,
      After<D, E>,
      After<E, F>,
      After<F, G>,
      After<G, H>,
      After<H, I>,
    ]
  ): PipelineStep<I, IN>;
  <A, B, C, D, E, F, G, H, I, J, IN = Json>(
    name: string,
    ...steps: [
      WiredStep<A, IN>,
      After<A, B>,
      After<B, C>,
      After<C, D>,
      After<D, E>,
      After<E, F>,
      After<F, G>,
      After<G, H>,
      After<H, I>,
      After<I, J>,
    ]
  ): PipelineStep<J, IN>;
  /** The steps after the tenth are not checked: nest pipelines instead. */
  <A, B, C, D, E, F, G, H, I, J, R extends readonly [StepNode, ...StepNode[]], IN = Json>(
    name: string,
    ...steps: [
      WiredStep<A, IN>,
      After<A, B>,
      After<B, C>,
      After<C, D>,
      After<D, E>,
      After<E, F>,
      After<F, G>,
      After<G, H>,
      After<H, I>,
      After<I, J>,
      ...R,
    ]
  ): PipelineStep<OutputOfLast<R>, IN>;
  /** For a list of steps, `...steps`. Only a spread list reaches this signature with more than one step. */
  (name: string, steps?: StepNode): PipelineStep<unknown, Json>;
}
