import { PawlError } from "../../core/errors.ts";
import { statusOfError } from "../error-problems.ts";
import { HttpProblem } from "../http-problem.ts";

/** What is wrong with one of several runs, as a request about it alone would be answered. */
export type PartialProblem = { readonly status: number; readonly code: string; readonly detail: string };

/** An error that nothing of Pawl has thrown is the server's, and ends the request. */
export function partialProblem(error: unknown): PartialProblem {
  if (!(error instanceof HttpProblem || PawlError.isInstance(error))) throw error;
  const { code, message: detail } = error;
  return { status: error instanceof HttpProblem ? error.status : statusOfError(code), code, detail };
}
