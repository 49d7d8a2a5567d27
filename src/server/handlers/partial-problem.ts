import { PawlError } from "../../core/errors.ts";
import { statusOfError } from "../error-problems.ts";
import { HttpProblem } from "../http-problem.ts";

/** What is wrong with one of several runs, as a request about it alone would be answered. */
export type PartialProblem = { readonly status: number; readonly code: string; readonly detail: string };

/** Null for an error that nothing of Pawl has thrown: a fault of the server. */
export function partialProblem(error: unknown): PartialProblem | null {
  if (!(error instanceof HttpProblem || PawlError.isInstance(error))) return null;
  const { code, message: detail } = error;
  return { status: error instanceof HttpProblem ? error.status : statusOfError(code), code, detail };
}
