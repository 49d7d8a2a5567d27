import type { RunSpec } from "../../core/job/run-spec.ts";

/** Whether a person is asked where a tool says that it needs one. A run without a contract asks about everything. */
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

/** Whether a person is asked where a tool keeps failing; if not, the budget for that ends the run. */
export function asksAboutFailures(spec: RunSpec | null): boolean {
  return spec === null || spec.escalation.askHumanOnRepeatedFailures;
}
