import { ConfigurationError } from "../../core/errors.ts";
import type { LoopSettings } from "./ai-sdk-settings.ts";

type StopWhen = NonNullable<LoopSettings["stopWhen"]>;
type Condition = Extract<StopWhen, (...given: never[]) => unknown>;

/** More turns than anybody lets an agent take. */
const MOST_TURNS = 10_000;

/**
 * How many turns `stopWhen` lets an agent take. The SDK's `isStepCount(20)` does not tell its number, so it is asked about
 * ever more steps; whatever looks at more than their number is code, which cannot be pinned.
 */
export function turnsUntilStop(agent: string, stopWhen: StopWhen): number {
  const conditions = Array.isArray(stopWhen) ? stopWhen : [stopWhen];
  return Math.min(...conditions.map((condition) => stepCountOf(agent, condition)));
}

function stepCountOf(agent: string, condition: Condition): number {
  for (let count = 1; count <= MOST_TURNS; count++) {
    const said = askAbout(condition, count);
    if (said === true && askAbout(condition, count + 1) === false) return count;
    if (said !== false) break;
  }
  throw new ConfigurationError(
    `Agent ${agent} has a stopWhen that is no isStepCount(n): say when it is done by Step.granular(name, agent, { maxTurns, completion }).`,
  );
}

/** Steps that nobody may look into: undefined where somebody does. */
function askAbout(condition: Condition, count: number): unknown {
  const step = new Proxy({}, { get: () => fail(), has: () => fail() });
  try {
    return condition({ steps: Array.from({ length: count }, () => step) } as never);
  } catch {
    return undefined;
  }
}

function fail(): never {
  throw new Error("It looks into a step.");
}
