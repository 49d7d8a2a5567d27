import { PawlError } from "../../core/errors.ts";

/** One mistake in a job file; line and column count from 1, and are null for the file as a whole. */
export type JobProblem = {
  readonly line: number | null;
  readonly column: number | null;
  /** The field as written, `budgets.max_steps`; empty for a syntax error. */
  readonly path: string;
  readonly message: string;
};

/** A job file cannot be used. Nothing was started; `details.problems` has every mistake, by line. */
export class JobFileError extends PawlError<{ file: string; problems: readonly JobProblem[] }> {
  readonly code = "job_file";
}
