import {
  AlreadySettledError,
  AnswerCutOffError,
  BlobMissingError,
  BudgetExceededError,
  BundleRefusedError,
  CheckpointStoreError,
  ConfigurationError,
  DeadlineExceededError,
  FinalFailure,
  InfiniteRedirectError,
  LeaseLostError,
  MaxIterationsExceededError,
  MaxTurnsExceededError,
  MessageRefusedError,
  ModelCallError,
  NeedsHuman,
  NeedsWait,
  NotApplied,
  NotJsonError,
  PausedError,
  type PawlError,
  PersonNeededError,
  PipelineAbortError,
  QuotaExceededError,
  ResumeError,
  RunBusyError,
  RunDeletedError,
  RunMovedError,
  RunNotBegunError,
  RunNotFoundError,
  SchemaMisfitError,
  SliceValueError,
  SnapshotRestoreError,
  StepFailedError,
  StoreUnavailableError,
  StoreUnusableError,
  ToolCallNotFoundError,
  ToolFailedError,
  UnmetConditionsError,
  WaitNotFoundError,
  WorkerBusyError,
  WorkspaceError,
} from "./errors.ts";
import type { JsonObject } from "./json.ts";

/** An error as it is stored with a failed run. */
export type StoredError = { readonly code: string; readonly message: string; readonly details: JsonObject };

const CLASSES = [
  NotJsonError,
  ConfigurationError,
  ResumeError,
  QuotaExceededError,
  MaxTurnsExceededError,
  AnswerCutOffError,
  SchemaMisfitError,
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
  RunMovedError,
  RunDeletedError,
  MessageRefusedError,
  BundleRefusedError,
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

/** Recreates the error of a failed run, in any process. */
export function reviveError(stored: StoredError): PawlError {
  const { reason } = stored.details;
  if (stored.code === "needs_human")
    return new NeedsHuman(typeof reason === "string" ? reason : "", stored.message);
  // What it waited for is with the wait, and not with the error.
  if (stored.code === "needs_wait") return new NeedsWait(stored.message, { kind: "time" });
  for (const ErrorClass of CLASSES) {
    const revived = new (ErrorClass as new (message: string, details: JsonObject) => PawlError)(
      stored.message,
      stored.details,
    );
    if (revived.code === stored.code) return revived;
  }
  return new StepFailedError(stored.message, { step: "" });
}
