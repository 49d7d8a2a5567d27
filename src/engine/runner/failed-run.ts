import { ModelCallError, type PawlError, reviveError } from "../../core/errors.ts";
import type { RunRecord } from "../../store/store.ts";
import { withRunId } from "./run-checks.ts";

/**
 * True if the run failed because its model did no work on the last request: it was not sent (a missing API key), or the
 * provider rejected it (401, 404, 400). Nothing was charged for it, so asking again costs nothing.
 */
export function wasRefused({ status, error }: RunRecord): boolean {
  const failure = status === "failed" && error !== null ? reviveError(error) : null;
  if (!ModelCallError.isInstance(failure)) return false;
  const { kind, usage } = failure.details;
  return usage === undefined && (kind === "not_sent" || kind === "rejected");
}

/** The error of a failed run, with a message that says that nothing was done now; null if the run has not failed. */
export function failedEarlier({ runId, status, error, updatedAt }: RunRecord): PawlError | null {
  if (status !== "failed" || error === null) return null;
  const at = new Date(updatedAt).toISOString().slice(0, "2026-01-31T23:59".length).replace("T", " ");
  const message = `Run ${runId} failed earlier (${at} UTC), and was not continued: ${error.message}`;
  return withRunId(runId, reviveError({ ...error, message }));
}

/** `failedEarlier` for a program: the message says how to continue the run, unless the error's own does. */
export function failedEarlierInProgram(run: RunRecord): PawlError | null {
  const { runId, error } = run;
  if (error === null || /\bresume\b/i.test(error.message)) return failedEarlier(run);
  const sentence = error.message.replace(/(?<![.!?])$/, ".");
  const message = `${sentence} Continue it with runner.resume(${JSON.stringify(runId)}).`;
  return failedEarlier({ ...run, error: { ...error, message } });
}
