import type { Json, JsonObject } from "./json.ts";
import type { NewWait } from "./wait.ts";

/** `Symbol.for`, so that an error is still recognised when two copies of the package are installed. */
const MARKER = Symbol.for("pawl.error");

/**
 * Every error that Pawl throws on purpose. `code` is stable, `message` says what happened, to what, and what to
 * do next; `details` is JSON, so that a failed run can throw the same error again in another process.
 */
export abstract class PawlError<D extends JsonObject = JsonObject> extends Error {
  abstract readonly code: string;
  readonly details: D;
  /** The run it came from, where it came from one: `runner.resume(error.runId)` goes on with it. */
  runId?: string;

  constructor(message: string, details: D, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.details = details;
  }

  /** True when trying the same thing again, unchanged, can succeed. */
  get recoverable(): boolean {
    return false;
  }

  get [MARKER](): true {
    return true;
  }

  /**
   * `instanceof` that also holds across copies of the package: `ResumeError.isInstance(error)` for one class,
   * `PawlError.isInstance(error)` for all of them.
   */
  static isInstance<E extends PawlError>(
    this: abstract new (
      ...args: never[]
    ) => E,
    error: unknown,
  ): error is E {
    if (error instanceof this) return true;
    if (typeof error !== "object" || error === null || !(MARKER in error)) return false;
    return this.name === PawlError.name || ("name" in error && error.name === this.name);
  }
}

/** A value that is not JSON was given where Pawl has to store it. */
export class NotJsonError extends PawlError<{ path: string }> {
  readonly code = "not_json";
}

/** Something is wrong with how Pawl was called or set up. What is wrong was not sent anywhere. */
export class ConfigurationError extends PawlError {
  readonly code = "configuration";
  constructor(message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
}

export type Change = { readonly what: string; readonly was: Json; readonly is: Json };

/** The stored state and what wants to go on from it do not fit together. */
export class ResumeError extends PawlError<{ irrecoverable: boolean; changes: readonly Change[] }> {
  readonly code = "resume";
  get irrecoverable(): boolean {
    return this.details.irrecoverable;
  }
  override get recoverable(): boolean {
    return !this.details.irrecoverable;
  }
}

/** The run's budget does not cover the next model call. */
export class QuotaExceededError extends PawlError<{ unit: string; wanted: number; remaining: number }> {
  readonly code = "quota_exceeded";
}

/** The agent was not done after `maxTurns` turns; resume with a higher limit goes on. */
export class MaxTurnsExceededError extends PawlError<{ maxTurns: number; step: string }> {
  readonly code = "max_turns_exceeded";
}

/** An answer reached `maxOutputTokens`, and so did the shorter one that was asked for; what was answered is kept. */
export class AnswerCutOffError extends PawlError<{ step: string; turn: number; maxOutputTokens: number }> {
  readonly code = "answer_cut_off";
}

/** A loop was not done after `maxIterations`; resume with a higher limit goes on. */
export class MaxIterationsExceededError extends PawlError<{ maxIterations: number; step: string }> {
  readonly code = "max_iterations_exceeded";
}

/** The time that the run was given is over. What is committed stays; `resume` with a later deadline goes on. */
export class DeadlineExceededError extends PawlError<{ deadline: string }> {
  readonly code = "deadline_exceeded";
}

/**
 * The run has used up a budget of its RunSpec. What is committed stays; `resume` with a higher one goes on. `used` is what
 * it has used, or would have with what it was about to do.
 */
export class BudgetExceededError extends PawlError<{ budget: string; limit: number; used: number }> {
  readonly code = "budget_exceeded";
}

/** The steps of the run are through, and it is not what its RunSpec asks for: `unmet` says what is missing. */
export class UnmetConditionsError extends PawlError<{ unmet: readonly string[] }> {
  readonly code = "unmet_conditions";
}

/** A file name that would leave the workspace of its run. Nothing was read or written. */
export class WorkspaceError extends PawlError<{ name: string }> {
  readonly code = "workspace";
}

/** A value does not fit its slice. `path` says where: `plan.steps.0.title`. Nothing of the event took effect. */
export class SliceValueError extends PawlError<{ slice: string; path: string }> {
  readonly code = "slice_value";
}

/** A snapshot cannot be restored into this session; nothing of it was. */
export class SnapshotRestoreError extends PawlError<{
  reason: "bad_json" | "version" | "unknown_slice" | "slice_version" | "migration" | "bad_value";
  slice: string | null;
}> {
  readonly code = "snapshot_restore";
}

/** The files of a worker cannot be used: both are corrupt, or the directory is not one to write to. */
export class CheckpointStoreError extends PawlError<{ reason: string; paths: readonly string[] }> {
  readonly code = "checkpoint_store";
}

/** Another living process works under the same worker identity. */
export class WorkerBusyError extends PawlError<{ worker: string }> {
  readonly code = "worker_busy";
  override get recoverable(): boolean {
    return true;
  }
}

/** A stored message refers to a blob that is no longer there. */
export class BlobMissingError extends PawlError<{ blobId: string; runId: string }> {
  readonly code = "blob_missing";
}

/**
 * The store did not take or give what it was asked: nothing of the refused write is stored. But for the reason
 * `commit_unknown`: a disk that failed while it made a write durable may have it all the same.
 */
export class StoreUnavailableError extends PawlError<{ reason: string }> {
  readonly code = "store_unavailable";
  override get recoverable(): boolean {
    return true;
  }
}

/** The file is not a database that this program can use: corrupt, foreign, or made by a newer version. */
export class StoreUnusableError extends PawlError<{ reason: string }> {
  readonly code = "store_unusable";
}

export class RunNotFoundError extends PawlError<{ runId: string }> {
  readonly code = "run_not_found";
}

/** A living process holds the run. */
export class RunBusyError extends PawlError<{ runId: string; owner: string; until: string }> {
  readonly code = "run_busy";
  override get recoverable(): boolean {
    return true;
  }
}

/**
 * A call that named no run began nothing: one or more runs of the same input wait for a person, are unfinished beside each
 * other, or have failed after they had effects outside.
 */
export class RunNotBegunError extends PawlError<{ why: string; runIds: readonly string[] }> {
  readonly code = "run_not_begun";
}

/** Another worker has taken the run over, or this one could not renew in time: it must not act any more. */
export class LeaseLostError extends PawlError<{ runId: string; epoch: number }> {
  readonly code = "lease_lost";
  override get recoverable(): boolean {
    return true;
  }
}

/** A run goes on only after a person has decided something: it is left `waiting`, with a question for each. */
export class PersonNeededError extends PawlError<{ waits: readonly NewWait[] }> {
  readonly code = "person_needed";
}

/** There is no wait of that id. */
export class WaitNotFoundError extends PawlError<{ waitId: string }> {
  readonly code = "wait_not_found";
}

/** There is no tool call of that id. */
export class ToolCallNotFoundError extends PawlError<{ toolCallId: string }> {
  readonly code = "tool_call_not_found";
}

/** Somebody has decided already, or there is nothing to decide: what is stored stays as it is. */
export class AlreadySettledError extends PawlError<{ id: string; status: string }> {
  readonly code = "already_settled";
}

/**
 * Thrown by a tool that knows that nothing happened: it is safe to try again, and it is.
 *
 * @example
 * if (response.status === 503) throw new NotApplied("The mail server is busy.");
 */
export class NotApplied extends PawlError {
  readonly code = "not_applied";
  constructor(message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
}

/**
 * Thrown by a tool whose other side has answered, with an error: asking again would bring the same, so nobody does. The model
 * sees what it says; unless the tool may be repeated, or says that nothing was `applied`, its effect counts as uncertain.
 *
 * @example
 * if (response.status === 404) throw new FinalFailure("There is no page at this address.");
 * if (response.status === 422) throw new FinalFailure("It did not take the order.", { applied: false });
 */
export class FinalFailure extends PawlError {
  readonly code = "final_failure";
  constructor(message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
}

/**
 * Thrown by a tool that cannot go on without a person; the run waits.
 *
 * @example
 * throw new NeedsHuman("auth_failure", "The token for the calendar has expired: renew it, then retry.");
 */
export class NeedsHuman extends PawlError<{ reason: string }> {
  readonly code = "needs_human";
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, { reason }, options);
  }
}

/** A tool that a code step called has failed; what it said is in the message. */
export class ToolFailedError extends PawlError<{ toolCallId: string; tool: string }> {
  readonly code = "tool_failed";
}

/** The model could not be had: `kind` says how far the request came, `status` what the provider answered. */
export class ModelCallError extends PawlError<{
  kind: "not_sent" | "rejected" | "rate_limited" | "server_error" | "no_answer" | "timeout";
  status: number | null;
  retryAfterMs: number | null;
  retryable: boolean;
  /** What the provider says it used, where it answered with nothing that can be used and said so. */
  usage?: { inputTokens: number; outputTokens: number; cachedInputTokens: number; reasoningTokens: number };
}> {
  readonly code = "model_call";
  override get recoverable(): boolean {
    return this.details.retryable;
  }
}

/** Code of a step threw something of its own; it is the `cause`. */
export class StepFailedError extends PawlError<{ step: string }> {
  readonly code = "step_failed";
}

/**
 * Thrown by user code to leave the run waiting. Passed on as it is, never wrapped. A tool that throws it with `applied: false`
 * says that it has done nothing, so `resume` runs it again; without that its call is in doubt.
 *
 * @example
 * if (await isHoliday()) throw new PausedError("The bank is closed.", { applied: false });
 */
export class PausedError extends PawlError {
  readonly code = "paused";
  constructor(message = "The run was paused.", details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
  override get recoverable(): boolean {
    return true;
  }
}

/** Thrown by user code to end the run. Passed on as it is, never wrapped. `applied: false` as for `PausedError`. */
export class PipelineAbortError extends PawlError {
  readonly code = "pipeline_abort";
  constructor(message = "The pipeline was aborted.", details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
}

/** Thrown where steps send each other in circles. Passed on as it is, never wrapped. `applied: false` as for `PausedError`. */
export class InfiniteRedirectError extends PawlError {
  readonly code = "infinite_redirect";
  constructor(
    message = "The steps redirect to each other without end.",
    details: JsonObject = {},
    options?: ErrorOptions,
  ) {
    super(message, details, options);
  }
}

/** Errors that steer the run rather than report on a step: they pass every layer untouched. */
export function isControlFlow(error: unknown): boolean {
  return (
    PawlError.isInstance(error) &&
    ["paused", "pipeline_abort", "infinite_redirect", "lease_lost", "person_needed"].includes(error.code)
  );
}

/** Whether a tool that steers the run with this says that it has done nothing: then it is safe to run it again. */
export function reportsNotApplied(error: unknown): error is PawlError {
  if (!isControlFlow(error) || !PawlError.isInstance(error)) return false;
  return (error.details as { readonly applied?: unknown } | null)?.applied === false;
}

/** An error as a failed run's row keeps it. */
export type StoredError = { readonly code: string; readonly message: string; readonly details: JsonObject };

const CLASSES = [
  NotJsonError,
  ConfigurationError,
  ResumeError,
  QuotaExceededError,
  MaxTurnsExceededError,
  AnswerCutOffError,
  MaxIterationsExceededError,
  DeadlineExceededError,
  BudgetExceededError,
  UnmetConditionsError,
  WorkspaceError,
  SliceValueError,
  SnapshotRestoreError,
  CheckpointStoreError,
  WorkerBusyError,
  BlobMissingError,
  StoreUnavailableError,
  StoreUnusableError,
  RunNotFoundError,
  RunBusyError,
  RunNotBegunError,
  LeaseLostError,
  PersonNeededError,
  NotApplied,
  FinalFailure,
  WaitNotFoundError,
  ToolCallNotFoundError,
  AlreadySettledError,
  ToolFailedError,
  ModelCallError,
  StepFailedError,
  PausedError,
  PipelineAbortError,
  InfiniteRedirectError,
] as const;

/** Makes the error of a failed run anew, in whatever process asks for it. */
export function reviveError(stored: StoredError): PawlError {
  const { reason } = stored.details;
  if (stored.code === "needs_human")
    return new NeedsHuman(typeof reason === "string" ? reason : "", stored.message);
  for (const ErrorClass of CLASSES) {
    const revived = new (ErrorClass as new (message: string, details: JsonObject) => PawlError)(
      stored.message,
      stored.details,
    );
    if (revived.code === stored.code) return revived;
  }
  return new StepFailedError(stored.message, { step: "" });
}
