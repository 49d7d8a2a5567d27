import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { KnownOutput } from "./blueprint-output.ts";
import { nearestName } from "./run-spec-spelling.ts";

/** What a step can look back at. */
export type Scope = {
  /** The steps before it, beside it or beside a loop that it is inside of, and what is known of what they come to. */
  readonly visible: ReadonlyMap<string, KnownOutput>;
  /** The loops that it is inside of, the outermost first. */
  readonly loops: readonly string[];
  /** What is known of what it is given. */
  readonly previous: KnownOutput;
};

/** A step that was written somewhere, by its name. */
export type WrittenStep = {
  readonly loops: readonly string[];
  /** The second one of that name, where there is one. */
  readonly second: JsonObject | null;
};

/** All steps of a blueprint, as far as they have names. */
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

/** Why a step cannot look at the one of that name, as the end of a sentence; null where it can. */
export function stepProblem(
  name: string,
  own: string | null,
  { visible, loops }: Scope,
  steps: ReadonlyMap<string, WrittenStep>,
): string | null {
  if (visible.has(name)) return null;
  if (name === own) return "that is this step itself: name one before it.";
  if (loops.includes(name))
    return `this step is inside of ${name}, which is not done yet: name a step before it.`;
  const written = steps.get(name);
  if (written === undefined) return unknownStep(name, [...visible.keys()]);
  const inside = written.loops.find((loop) => !loops.includes(loop));
  return inside !== undefined && visible.has(inside)
    ? `that step is inside of ${inside}: steps.${inside} is what the loop came to.`
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
