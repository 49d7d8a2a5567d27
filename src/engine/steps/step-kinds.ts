import { ConfigurationError } from "../../core/errors.ts";
import type { StepNode } from "../definition/step.ts";

/** The kinds of steps that the engine executes itself. Their executors are in `built-in-executors.ts`. */
const BUILT_IN_KINDS = ["pipeline", "loop", "turn-loop", "conversation", "run", "when"] as const;

export type BuiltInKind = (typeof BUILT_IN_KINDS)[number];

/** Throws if any step of the pipeline is of a kind without an executor. Called before anything runs. */
export function assertKnownKinds(step: StepNode, executors: { readonly [kind: string]: unknown }): void {
  const { kind } = step;
  const isKnown = Object.hasOwn(executors, kind)
    ? executors[kind] !== undefined
    : (BUILT_IN_KINDS as readonly string[]).includes(kind);
  if (!isKnown) throw unknownKind(step);
  // The child of an agent's step is never looked up: its executor executes the turns itself.
  if (kind === "turn-loop" || kind === "conversation") return;
  for (const child of step.children ?? []) assertKnownKinds(child, executors);
}

export function unknownKind({ kind, name }: StepNode): ConfigurationError {
  return new ConfigurationError(
    `There is no executor for steps of kind "${kind}" (step ${name}): pass one in the runner's \`executors\`.`,
  );
}
