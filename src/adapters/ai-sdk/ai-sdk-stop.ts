import { ConfigurationError } from "../../core/errors.ts";
import type { LoopSettings } from "./ai-sdk-settings.ts";

type SdkCondition = Extract<LoopSettings["stopWhen"], (...given: never[]) => unknown>;

/** As a method, so that a condition that is typed for the tools of one agent fits, too. */
type Condition = { stops(...given: Parameters<SdkCondition>): ReturnType<SdkCondition> }["stops"];

export type StopWhen = Condition | readonly Condition[];

/** More turns than any agent is allowed in practice. */
const MOST_TURNS = 10_000;

/**
 * The number of turns that `stopWhen` allows. The SDK's `isStepCount(20)` does not expose its number, so it is called with
 * more and more steps. A condition that looks at more than their number is code, which cannot be pinned.
 */
export function turnsUntilStop(agent: string, stopWhen: StopWhen): number {
  const conditions = typeof stopWhen === "function" ? [stopWhen] : stopWhen;
  return Math.min(...conditions.map((condition) => stepCountOf(agent, condition)));
}

function stepCountOf(agent: string, condition: Condition): number {
  for (let count = 1; count <= MOST_TURNS; count++) {
    const stops = stopsAt(condition, count);
    if (stops === true && stopsAt(condition, count + 1) === false) return count;
    if (stops !== false) break;
  }
  throw new ConfigurationError(
    `Agent ${agent} has a stopWhen other than isStepCount(n): define when it is done with Step.granular(name, agent, { maxTurns, completion }).`,
  );
}

/** The condition's result for so many opaque steps; undefined if it looks into one. */
function stopsAt(condition: Condition, count: number): unknown {
  const step = new Proxy({}, { get: () => fail(), has: () => fail() });
  try {
    return condition({ steps: Array.from({ length: count }, () => step) } as never);
  } catch {
    return undefined;
  }
}

function fail(): never {
  throw new Error("The condition looks into a step.");
}
