import type { Json, JsonObject } from "./json.ts";
import type { NeededWait, NewWait, WaitClock } from "./wait.ts";

/** `Symbol.for`, so that an error is recognised even if two copies of the package are installed. */
const MARKER = Symbol.for("pawl.error");

/**
 * The base of every error that Pawl throws on purpose. `code` is stable; `message` says what happened, to what, and what
 * to do next; `details` is JSON, so that a failed run can throw the same error again in another process.
 */
export abstract class PawlError<D extends JsonObject = JsonObject> extends Error {
  abstract readonly code: string;
  readonly details: D;
  /** The run that threw it, if any: `runner.resume(error.runId)` resumes it. */
  runId?: string;

  constructor(message: string, details: D, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.details = details;
  }

  /** True if the same thing can succeed when it is tried again, unchanged. */
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

/** A value that Pawl has to store is not JSON. */
export class NotJsonError extends PawlError<{ path: string }> {
  readonly code = "not_json";
}

/** Pawl was called or configured incorrectly. The faulty value was not sent anywhere. */
export class ConfigurationError extends PawlError {
  readonly code = "configuration";
  constructor(message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
}

export type Change = { readonly what: string; readonly was: Json; readonly is: Json };

/**
 * The stored state of a run does not fit the code that tries to resume it. `changesHash` is there if the changes can be
 * accepted: a resume with `acceptDivergence` and this hash accepts them, and no others.
 */
export class ResumeError extends PawlError<{
  irrecoverable: boolean;
  changes: readonly Change[];
  changesHash?: string;
}> {
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

/** The agent was not done after `maxTurns` turns; resume with a higher limit to continue. */
export class MaxTurnsExceededError extends PawlError<{ maxTurns: number; step: string }> {
  readonly code = "max_turns_exceeded";
}

/** An answer reached `maxOutputTokens`, and so did the shorter one that was requested next. Both answers are kept. */
export class AnswerCutOffError extends PawlError<{ step: string; turn: number; maxOutputTokens: number }> {
  readonly code = "answer_cut_off";
}

/**
 * A model sent answers that do not fit the output schema, or arguments that do not fit a tool's (`tool`), several turns in a
 * row. `problem` has the path that did not fit, `given` what the model sent. Resume it with a changed agent, or as it is.
 */
export class SchemaMisfitError extends PawlError<{
  agent: string;
  step: string;
  tool: string | null;
  turn: number;
  problem: string;
  given: string;
}> {
  readonly code = "schema_misfit";
}

/** A loop was not done after `maxIterations`; resume with a higher limit to continue. */
export class MaxIterationsExceededError extends PawlError<{ maxIterations: number; step: string }> {
  readonly code = "max_iterations_exceeded";
}

/** The run has reached its deadline. Committed work is kept; `resume` with a later deadline to continue. */
export class DeadlineExceededError extends PawlError<{ deadline: string }> {
  readonly code = "deadline_exceeded";
}

/**
 * The run has used up a budget of its RunSpec. Committed work is kept; `resume` with a higher budget to continue. `used`
 * includes the action that was about to start.
 */
export class BudgetExceededError extends PawlError<{ budget: string; limit: number; used: number }> {
  readonly code = "budget_exceeded";
}

/** All steps of the run are done, but not all conditions of its RunSpec hold: `unmet` lists those that do not. */
export class UnmetConditionsError extends PawlError<{ unmet: readonly string[] }> {
  readonly code = "unmet_conditions";
}

/** A file name that would leave the workspace of its run. Nothing was read or written. */
export class WorkspaceError extends PawlError<{ name: string }> {
  readonly code = "workspace";
}

/** A value does not fit the schema of its slice, at `path`: `plan.steps.0.title`. No part of the event took effect. */
export class SliceValueError extends PawlError<{ slice: string; path: string }> {
  readonly code = "slice_value";
}

/** A snapshot cannot be restored into this session. No part of it was. */
export class SnapshotRestoreError extends PawlError<{
  reason: "bad_json" | "version" | "unknown_slice" | "slice_version" | "migration" | "bad_value";
  slice: string | null;
}> {
  readonly code = "snapshot_restore";
}

/** The files of a worker cannot be used: both are corrupt, or the directory is not writable. */
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
 * The store could not do a read or a write; no part of the write is stored. The exception is the reason `commit_unknown`:
 * the disk failed while it made the write durable, so it may be stored.
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

/** The store has no run with this id. */
export class RunNotFoundError extends PawlError<{ runId: string }> {
  readonly code = "run_not_found";
}

/** The run was deleted: its tombstone says when, by whom and why. Its id is not used again. */
export class RunDeletedError extends PawlError<{ runId: string }> {
  readonly code = "run_deleted";
}

/** The message is not accepted: the same id was sent with other contents or by another sender, or nobody has the address. */
export class MessageRefusedError extends PawlError<{ reason: string }> {
  readonly code = "message_refused";
}

/** The run was moved to another store and continues there; or it is on its way into this one. */
export class RunMovedError extends PawlError<{ runId: string; to: string }> {
  readonly code = "run_moved";
}

/** A bundle of a run was not imported: it is damaged, for another store, or of another version. */
export class BundleRefusedError extends PawlError<{ reason: string }> {
  readonly code = "bundle_refused";
}

/** A living process holds the run. */
export class RunBusyError extends PawlError<{ runId: string; owner: string; until: string }> {
  readonly code = "run_busy";
  override get recoverable(): boolean {
    return true;
  }
}

/**
 * A call without a run id started no run: one or more runs of the same input wait for a person, are unfinished at the same
 * time, or have failed after side effects.
 */
export class RunNotBegunError extends PawlError<{ why: string; runIds: readonly string[] }> {
  readonly code = "run_not_begun";
}

/** Another worker has taken over the run, or this one did not renew its lease in time: it must not act any more. */
export class LeaseLostError extends PawlError<{ runId: string; epoch: number }> {
  readonly code = "lease_lost";
  override get recoverable(): boolean {
    return true;
  }
}

/** The run cannot continue until something has come, most often a decision of a person: it is left `waiting`. */
export class PersonNeededError extends PawlError<{ waits: readonly NewWait[] }> {
  readonly code = "person_needed";
}

/** There is no wait with that id. */
export class WaitNotFoundError extends PawlError<{ waitId: string }> {
  readonly code = "wait_not_found";
}

/** There is no tool call with that id. */
export class ToolCallNotFoundError extends PawlError<{ toolCallId: string }> {
  readonly code = "tool_call_not_found";
}

/** It is decided already, or there is nothing to decide: the stored state does not change. */
export class AlreadySettledError extends PawlError<{ id: string; status: string }> {
  readonly code = "already_settled";
}

/**
 * Thrown by a tool that knows that nothing happened: the call is safe to retry, and is retried.
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
 * Thrown by a tool whose other side answered with an error that a retry would only bring again, so there is none. The model
 * sees the message. The effect counts as uncertain, unless the tool may be repeated or passes `applied: false`.
 *
 * @example
 * if (response.status === 404) throw new FinalFailure("There is no page at this address.");
 * if (response.status === 422) throw new FinalFailure("The shop rejected the order.", { applied: false });
 */
export class FinalFailure extends PawlError {
  readonly code = "final_failure";
  constructor(message: string, details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
}

/**
 * Thrown by a tool that cannot continue without a person; the run waits.
 *
 * @example
 * throw new NeedsHuman("auth_failure", "The token for the calendar has expired: renew it, then retry.");
 */
export class NeedsHuman extends PawlError<{ reason: string }> {
  readonly code = "needs_human";
  /** When the clock acts on the question; by default as `policy.timeLimits` of the runner says. */
  clock?: WaitClock;
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, { reason }, options);
  }
}

/** Thrown by a tool that waits for the clock or for a message. The run waits, and what answers the wait is the tool's result. */
export class NeedsWait extends PawlError {
  readonly code = "needs_wait";
  readonly wait: NeededWait;
  constructor(message: string, wait: NeededWait) {
    super(message, {});
    this.wait = wait;
  }
}

/**
 * A tool that a code step called has failed; the message has the tool's error. `errorCode` is that of the receipt: `denied`
 * if a person has denied the call.
 */
export class ToolFailedError extends PawlError<{
  toolCallId: string;
  tool: string;
  errorCode: string | null;
}> {
  readonly code = "tool_failed";
}

/** The model call failed: `kind` is how far the request got, `status` is the provider's HTTP status. */
export class ModelCallError extends PawlError<{
  kind: "not_sent" | "rejected" | "rate_limited" | "server_error" | "no_answer" | "timeout";
  status: number | null;
  retryAfterMs: number | null;
  retryable: boolean;
  /** A rejection of the account: its key, quota or credit. The request itself may be good, whatever the status is. */
  account?: true;
  /** The library that calls the provider refused what the request contains, such as a file of a type that it does not know. */
  contents?: true;
  /** Of a rejection: the end of the message, if it says what to do before the run is resumed. A conversation needs no resume. */
  advice?: string;
  /** The usage that the provider reported along with an unusable answer. */
  usage?: { inputTokens: number; outputTokens: number; cachedInputTokens: number; reasoningTokens: number };
}> {
  readonly code = "model_call";
  override get recoverable(): boolean {
    return this.details.retryable;
  }
}

/** The code of a step threw an error of its own, which is the `cause`. */
export class StepFailedError extends PawlError<{ step: string }> {
  readonly code = "step_failed";
}

/**
 * Thrown by user code to leave the run waiting. Rethrown unchanged, never wrapped. A tool that throws it with
 * `applied: false` has done nothing, so `resume` runs it again; without that, its call is in doubt.
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

/** Thrown by user code to end the run. Rethrown unchanged, never wrapped. `applied: false` as for `PausedError`. */
export class PipelineAbortError extends PawlError {
  readonly code = "pipeline_abort";
  constructor(message = "The pipeline was aborted.", details: JsonObject = {}, options?: ErrorOptions) {
    super(message, details, options);
  }
}

/** Thrown if steps redirect to each other in circles. Rethrown unchanged, never wrapped. `applied: false` as for `PausedError`. */
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
