import { PawlError } from "../../core/errors.ts";
import type { SpanFacts, SpanStart } from "../../engine/ports/telemetry-port.ts";

/** The error of a span. */
export type SpanError = { readonly type: string; readonly message: string };

/** Codes of errors that stop the work in good order and are not failures: for a person, or by the code itself. */
const STOPS = ["person_needed", "paused", "pipeline_abort"];

/** The work was cut off because the run was cancelled or released. */
const ABORTED = "AbortError";

/** The name of a stop that is not a failure; null for a failure. */
export function stopOf(error: unknown): string | null {
  if (PawlError.isInstance(error)) return STOPS.includes(error.code) ? error.code : null;
  return error instanceof Error && error.name === ABORTED ? "aborted" : null;
}

export function thrownError(error: unknown): SpanError {
  if (PawlError.isInstance(error)) return { type: error.code, message: error.message };
  if (error instanceof Error) return { type: error.name, message: error.message };
  return { type: "_OTHER", message: String(error) };
}

/** A failure that was reported and not thrown. For a tool, its type is the status of the attempt. */
export function reportedError({ kind }: SpanStart, { problem, status }: SpanFacts): SpanError | null {
  if (problem === undefined) return null;
  return { type: kind === "chat" ? "model_call" : (status ?? "_OTHER"), message: problem };
}
