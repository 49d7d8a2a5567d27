import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { nearestName } from "../naming/nearest-name.ts";
import type { KnownOutput } from "./blueprint-output.ts";

/** What a step can refer to. */
export type Scope = {
  /** The earlier steps of its list and of the lists around it, and what is known about their outputs. */
  readonly visible: ReadonlyMap<string, KnownOutput>;
  /** The loops around it, the outermost first. */
  readonly loops: readonly string[];
  /** What is known about its input. */
  readonly previous: KnownOutput;
};

/** A named step anywhere in a blueprint. */
export type WrittenStep = {
  readonly loops: readonly string[];
  /** A second step of the same name, if there is one. */
  readonly second: JsonObject | null;
};

/** All named steps of a blueprint. */
export function collectSteps(
  steps: Json | undefined,
  loops: readonly string[] = [],
  found: Map<string, WrittenStep> = new Map(),
): ReadonlyMap<string, WrittenStep> {
  if (!Array.isArray(steps)) return found;
  for (const step of steps as readonly Json[]) {
    if (!isJsonObject(step)) continue;
    const { name, loop } = step;
    if (typeof name === "string") {
      const first = found.get(name);
      found.set(
        name,
        first === undefined ? { loops, second: null } : { ...first, second: first.second ?? step },
      );
    }
    collectSteps(loop, typeof name === "string" ? [...loops, name] : loops, found);
  }
  return found;
}

/** The reason why a step cannot refer to another one, as the end of a sentence; null if it can. */
export function stepProblem(
  name: string,
  own: string | null,
  { visible, loops }: Scope,
  steps: ReadonlyMap<string, WrittenStep>,
): string | null {
  if (visible.has(name)) return null;
  if (name === own) return "that is this step itself: name one before it.";
  if (loops.includes(name))
    return `this step is inside ${name}, which is not done yet: name a step before it.`;
  const written = steps.get(name);
  if (written === undefined) return unknownStep(name, [...visible.keys()]);
  const inside = written.loops.find((loop) => !loops.includes(loop));
  return inside !== undefined && visible.has(inside)
    ? `that step is inside ${inside}: steps.${inside} is the output of the loop.`
    : `step ${name} comes later: name one before it.`;
}

function unknownStep(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  const meant =
    near !== null
      ? `did you mean ${near}?`
      : names.length === 0
        ? "there is none before this one."
        : `before this one there ${names.length === 1 ? "is" : "are"} ${names.join(", ")}.`;
  return `there is no step ${name}: ${meant}`;
}
