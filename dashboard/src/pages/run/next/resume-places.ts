import type { Run } from "./standing-words.ts";

/** Where a run can continue from. */
export type ResumePlace = "turn" | "milestone" | "beginning";

/** A run without a milestone would begin again, as from the beginning: that is not offered twice. */
export function resumePlaces({ milestone }: Pick<Run, "milestone">): readonly ResumePlace[] {
  return milestone === null ? ["turn", "beginning"] : ["turn", "milestone", "beginning"];
}

/** Which milestone it is. Steps and phases that have ended are milestones too. */
export function milestoneWords({ type, stepPath, turnIndex }: NonNullable<Run["milestone"]>): string {
  switch (type) {
    case "step_boundary":
      return `the end of ${stepPath}`;
    case "phase_boundary":
      return `the end of a phase, with ${stepPath}`;
    default:
      return `${stepPath}, turn ${turnIndex}`;
  }
}
