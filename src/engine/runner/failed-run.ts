import { ModelCallError, type PawlError } from "../../core/errors.ts";
import { reviveError } from "../../core/stored-error.ts";
import { isUncharged } from "../../core/turn/model-retry.ts";
import type { ModelCallRecord, RunRecord, StepRecord, StoreReader } from "../../store/store.ts";
import { withRunId } from "./run-checks.ts";

/**
 * True if the run failed because its model did no work on the last request: it was not sent (a missing API key), or the
 * provider refused it (401, 404, 400, or an outage of `maxOutageMs`). Nothing was charged for it, so asking again costs
 * nothing. The ledger decides, not the error alone: the code of a step may throw the error of another run, and would be
 * entered again.
 */
export async function wasRefused(store: StoreReader, run: RunRecord): Promise<boolean> {
  const { runId, status, error, currentStep } = run;
  const failure = status === "failed" && error !== null ? reviveError(error) : null;
  if (!ModelCallError.isInstance(failure) || currentStep === null) return false;
  const { details } = failure;
  if (details.usage !== undefined || !isUncharged(details)) return false;
  const step = await store.findStep(runId, currentStep);
  if (step?.status !== "failed") return false;
  return (await lastModelCall(store, run, step))?.charge?.basis === "none";
}

/** The newest model attempt at the turn after the last committed one; null for a step that has none. */
async function lastModelCall(
  store: StoreReader,
  { runId }: RunRecord,
  { path: stepPath, stepKey }: StepRecord,
): Promise<ModelCallRecord | null> {
  const { turnIndex } = await store.readConversation(runId, stepKey, 0);
  const after = { stepPath, turnIndex, attempt: Number.MAX_SAFE_INTEGER };
  const calls = await store.listModelCalls(runId, { after });
  return calls.findLast((call) => call.stepPath === stepPath) ?? null;
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
