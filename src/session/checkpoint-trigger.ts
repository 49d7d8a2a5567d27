import { ConfigurationError } from "../core/errors.ts";
import type { SessionEvent } from "../core/session-event.ts";
import { UPDATE_STEP } from "./plan.ts";
import type { SessionView } from "./session-view.ts";

export type CheckpointTriggerOptions = {
  /** `UpdateStep` alone, unless said otherwise. */
  readonly eventTypes?: readonly string[];
  /** Whether an event of such a type is a milestone; the session is as the event has left it. */
  readonly when?: (event: SessionEvent, session: SessionView) => boolean;
};

/**
 * Which events are milestones, worth going back to. Unless said otherwise: a step of the plan that is done.
 *
 * @example
 * new CheckpointTrigger({ eventTypes: ["MilestoneReached", "UpdateStep"] });
 */
export class CheckpointTrigger {
  readonly eventTypes: readonly string[];
  readonly #when: (event: SessionEvent, session: SessionView) => boolean;

  constructor({ eventTypes = [UPDATE_STEP], when = isMilestone }: CheckpointTriggerOptions = {}) {
    if (!isListOfNames(eventTypes))
      throw new ConfigurationError(
        "The eventTypes of a checkpoint trigger are not names: give a list of texts.",
      );
    if (typeof when !== "function")
      throw new ConfigurationError("The when of a checkpoint trigger is not a function: give one, or none.");
    this.eventTypes = Object.freeze([...eventTypes]);
    this.#when = when;
  }

  shouldCheckpoint(event: SessionEvent, session: SessionView): boolean {
    if (!this.eventTypes.includes(event.type)) return false;
    const verdict: unknown = this.#when(event, session);
    if (typeof verdict === "boolean") return verdict;
    throw new ConfigurationError(
      `The when of a checkpoint trigger returned ${typeof verdict}: return true or false.`,
    );
  }
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && name !== "");
}

function isMilestone(event: SessionEvent): boolean {
  return event.type !== UPDATE_STEP || event.status === "done";
}
