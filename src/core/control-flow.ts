import { PawlError } from "./errors.ts";

/** True for errors that control the run rather than report on a step: they pass through every layer unchanged. */
export function isControlFlow(error: unknown): boolean {
  return (
    PawlError.isInstance(error) &&
    ["paused", "pipeline_abort", "infinite_redirect", "lease_lost", "person_needed"].includes(error.code)
  );
}

/** True if a tool that controls the run with this error reports that it has done nothing: then it is safe to run again. */
export function reportsNotApplied(error: unknown): error is PawlError {
  if (!isControlFlow(error) || !PawlError.isInstance(error)) return false;
  return (error.details as { readonly applied?: unknown } | null)?.applied === false;
}
