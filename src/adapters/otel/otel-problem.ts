import { PawlError } from "../../core/errors.ts";
import type { SpanFacts, SpanStart } from "../../engine/ports/telemetry-port.ts";

/** Why a span is one of an error. */
export type Problem = { readonly type: string; readonly message: string };

/** Thrown to stop the work in good order, and no failure: for a person, or by the code itself. */
const STOPS = ["person_needed", "paused", "pipeline_abort"];

/** What was cut off because the run was cancelled or let go of. */
const ABORTED = "AbortError";

/** What is thrown to stop the work and is no failure; null where it is one. */
export function stopOf(error: unknown): string | null {
  if (PawlError.isInstance(error)) return STOPS.includes(error.code) ? error.code : null;
  return error instanceof Error && error.name === ABORTED ? "aborted" : null;
}

export function thrownProblem(error: unknown): Problem {
  if (PawlError.isInstance(error)) return { type: error.code, message: error.message };
  if (error instanceof Error) return { type: error.name, message: error.message };
  return { type: "_OTHER", message: String(error) };
}

/** What went wrong without being thrown. A tool's is told apart by how its try ended. */
export function toldProblem({ kind }: SpanStart, { problem, status }: SpanFacts): Problem | null {
  if (problem === undefined) return null;
  return { type: kind === "chat" ? "model_call" : (status ?? "_OTHER"), message: problem };
}
