import { ConfigurationError } from "../core/errors.ts";
import { assertOptions, type OptionNames } from "../core/naming/option-names.ts";
import type { SessionEvent } from "../core/session-event.ts";
import { UPDATE_STEP } from "./plan.ts";
import type { SessionView } from "./session-view.ts";

/** Options of a `CheckpointTrigger`. */
export type CheckpointTriggerOptions = {
  /** `UpdateStep` alone by default. */
  readonly eventTypes?: readonly string[];
  /** Decides whether an event of such a type is a milestone; the session is in the state after the event. */
  readonly when?: (event: SessionEvent, session: SessionView) => boolean;
  /**
   * `"sync"`, the default: a checkpoint is part of the commit of its turn. `"async"`: it is saved right after that
   * commit, while the run continues, and a crash in between loses it. A finished step of the plan is always `"sync"`.
   */
  readonly checkpoint?: "sync" | "async";
};

/**
 * Decides which events are milestones, to which a run can return. By default: a step of the plan becomes done.
 *
 * @example
 * new CheckpointTrigger({ eventTypes: ["MilestoneReached", "UpdateStep"] });
 * new CheckpointTrigger({ eventTypes: ["PageRead", "UpdateStep"], checkpoint: "async" });
 */
export class CheckpointTrigger {
  readonly eventTypes: readonly string[];
  readonly #when: (event: SessionEvent, session: SessionView) => boolean;
  readonly #mode: "sync" | "async";

  constructor(options: CheckpointTriggerOptions = {}) {
    assertOptions("The argument of CheckpointTrigger", options, TRIGGER_NAMES);
    const { eventTypes = [UPDATE_STEP], when = isMilestone, checkpoint = "sync" } = options;
    if (!isListOfNames(eventTypes))
      throw new ConfigurationError(
        "The eventTypes of a checkpoint trigger are not names: give a list of texts.",
      );
    if (typeof when !== "function")
      throw new ConfigurationError("The when of a checkpoint trigger is not a function: give one, or none.");
    if (checkpoint !== "sync" && checkpoint !== "async")
      throw new ConfigurationError(
        `The checkpoint of a checkpoint trigger is ${JSON.stringify(checkpoint)}: use "sync" or "async".`,
      );
    this.#mode = checkpoint;
    this.eventTypes = Object.freeze([...eventTypes]);
    this.#when = when;
  }

  /** True if the checkpoint of this event may be saved after the commit of its turn. */
  mayBeLate({ type }: SessionEvent): boolean {
    return this.#mode === "async" && type !== UPDATE_STEP;
  }

  shouldCheckpoint(event: SessionEvent, session: SessionView): boolean {
    if (!this.eventTypes.includes(event.type)) return false;
    const isMilestoneNow: unknown = this.#when(event, session);
    if (typeof isMilestoneNow === "boolean") return isMilestoneNow;
    throw new ConfigurationError(
      `The when of a checkpoint trigger returned ${typeof isMilestoneNow}: return true or false.`,
    );
  }
}

const TRIGGER_NAMES = {
  eventTypes: true,
  when: true,
  checkpoint: true,
} satisfies OptionNames<CheckpointTriggerOptions>;

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && name !== "");
}

function isMilestone(event: SessionEvent): boolean {
  return event.type !== UPDATE_STEP || event.status === "done";
}
