import type { RunSpec } from "../../core/job/run-spec.ts";

/** True if a person is asked when a tool throws `NeedsHuman`. A run without a RunSpec asks for every reason. */
export function asksAbout(spec: RunSpec | null, reason: string): boolean {
  if (spec === null) return true;
  const { askHumanOnAmbiguousRecipient, askHumanOnAuthFailure } = spec.escalation;
  switch (reason) {
    case "ambiguous_recipient":
      return askHumanOnAmbiguousRecipient;
    case "auth_failure":
      return askHumanOnAuthFailure;
    default:
      return true;
  }
}

/** True if a person is asked when a tool keeps failing; otherwise the budget for failures ends the run. */
export function asksAboutFailures(spec: RunSpec | null): boolean {
  return spec === null || spec.escalation.askHumanOnRepeatedFailures;
}
