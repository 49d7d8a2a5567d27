import type {
  FailedAttemptOutcome,
  ReceiptStatus,
  RecoveryClass,
  SideEffectClass,
} from "../core/call/tool-call-decision.ts";
import type { RunSpec } from "../core/job/run-spec.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { ToolOutput } from "../core/message.ts";
import type { Person } from "../core/person.ts";
import type { SessionEvent } from "../core/session-event.ts";
import type { StepPath } from "../core/step-path.ts";
import type { StoredError } from "../core/stored-error.ts";
import type { BudgetName } from "../core/usage/budget.ts";
import type { Limit } from "../core/usage/quota.ts";
import type { NewWait } from "../core/wait.ts";
import type { ClaimLimits, RunPlace } from "./queue-records.ts";
import type { RunStatus } from "./run-move.ts";
import type { CheckpointType } from "./session-records.ts";
import type { Charge, ModelCallRecord, ReceiptSource, RunRecord, StoredResponse } from "./store-records.ts";

// The parameters of the store's intents, and their results.

/** A worker's right to write: the run, and its epoch, which later owners exceed. */
export type Fence = { readonly runId: string; readonly epoch: number };

/** A run to create. It is created and claimed at once. */
export type NewRun = RunPlace & {
  readonly runId: string;
  readonly pipeline: string;
  readonly entrypoint: string;
  readonly input: Json;
  readonly inputHash: Uint8Array;
  readonly shape: Json;
  readonly limit: Limit;
  /** In milliseconds since 1970; none by default. */
  readonly deadline?: number | null;
  /** The contract of the run. Its budgets set `limit` and `deadline` where those are not given. */
  readonly spec?: RunSpec | null;
  /** Recorded for approvals that must come from another person. */
  readonly startedBy?: Person;
  readonly leaseMs: number;
  readonly marksEffects?: boolean;
};

/** How a run is claimed, and what changes with the claim. */
export type ClaimOptions = {
  readonly leaseMs: number;
  /** Only a run in one of these statuses is claimed. */
  readonly from: readonly RunStatus[];
  /** Replaces the limit; charges stay charged. */
  readonly limit?: Limit;
  /** Replaces the deadline. */
  readonly deadline?: number | null;
  /** Replaces these budgets of the run, and with them its limit and deadline; usage so far still counts. */
  readonly budgets?: { readonly [B in BudgetName]?: number };
  /** Where this worker resumes from, and why; stored with the run attempt. */
  readonly attempt?: AttemptReason;
  /**
   * True if the worker calls `beginEffect` before everything it sends. Only then is an effect without a mark
   * known to be unsent if the process dies.
   */
  readonly marksEffects?: boolean;
  /** Refused while it is queued for a later time: a worker must not begin it early. */
  readonly onlyIfReady?: boolean;
  /** Refused with `limited` where this many others are claimed already. */
  readonly limits?: ClaimLimits;
  /**
   * Refused with `stalled` after this many workers died in it without a commit: it waits for a person instead, as
   * after any number of them, until a person answers.
   */
  readonly maxStalls?: number;
  /** The version of the worker, stored with the run. */
  readonly workerVersion?: string | null;
  /**
   * True for a resume with options of its own: it takes the place of a resume request that is stored with the run. Any other
   * claim takes the request: it makes its changes of limits, and the claimed run has what its worker still has to do.
   */
  readonly replacesRequest?: boolean;
};

/** One attempt of an effect that leaves the process: a turn's model call, or a tool call. */
export type EffectAttempt = {
  readonly stepKey: number;
  /** 0 for the calls of a code step. */
  readonly turnIndex: number;
  /** 0 for the model call of the turn. */
  readonly callIndex: number;
  readonly attempt: number;
};

/** Without a reason of its own, a run attempt records the status in which the run was found. */
export type AttemptReason = { readonly resumedFrom: "turn" | "milestone"; readonly reason: string | null };

/** A worker's hold of a run: its epoch, and the run as it was claimed. */
export type Claim = { readonly epoch: number; readonly run: RunRecord };

/** The outcome of a claim: the run is claimed, or the reason why it is not. */
export type ClaimOutcome =
  | {
      readonly kind: "claimed";
      readonly claim: Claim;
      readonly chargedAsLost: readonly ModelCallRecord[];
      /** The ids of the calls that were running when the previous worker stopped. */
      readonly foundInDoubt: readonly string[];
    }
  | { readonly kind: "busy"; readonly owner: string; readonly until: number }
  | { readonly kind: "refused"; readonly run: RunRecord }
  /** It stays as it is: a limit is reached. */
  | { readonly kind: "limited"; readonly by: keyof ClaimLimits }
  /** It waits for a person now: too many workers died in it without a commit. */
  | { readonly kind: "stalled"; readonly run: RunRecord }
  | { readonly kind: "not_found" };

/** How a worker releases a run. */
export type RunEnd =
  | {
      readonly status: "succeeded";
      readonly output: Json;
      readonly context: Json;
      /** The name of the artifact that is its result, if the contract says which one that is. */
      readonly finalArtifact?: string | null;
    }
  | { readonly status: "failed" | "cancelled"; readonly error: StoredError | null }
  /** Released in good order, ready to be resumed. */
  | { readonly status: "queued" }
  | {
      readonly status: "waiting";
      readonly error: StoredError | null;
      /**
       * The questions for a person. An open wait about the same call is kept; a call settled meanwhile needs
       * none.
       */
      readonly waits: readonly NewWait[];
    };

/** `context` is null if the step left it unchanged. */
export type FinishedStep = {
  readonly stepKey: number;
  readonly output: Json;
  readonly context: Json;
  readonly session?: SessionCommit;
};

/** The changes that a commit makes to the run's session. */
export type SessionCommit = {
  readonly slices: readonly SliceChange[];
  /** The ids of the calls whose events the session includes from now on. */
  readonly applied: readonly string[];
  readonly checkpoint: NewCheckpoint | null;
};

/** The changed items of a slice, and its new length: items beyond it are removed. */
export type SliceChange = {
  readonly name: string;
  readonly kind: "state" | "log";
  readonly version: number;
  readonly length: number;
  readonly items: readonly (readonly [index: number, value: Json])[];
};

/** A checkpoint to store. */
export type NewCheckpoint = {
  readonly type: CheckpointType;
  readonly snapshot: JsonObject;
  /** Where it was taken: the last tool call, the existing artifacts. */
  readonly cursor: JsonObject;
};

/** A checkpoint of the last committed turn, saved after its commit. */
export type LateCheckpoint = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly checkpoint: NewCheckpoint;
};

/** A new lineage of a granular step. */
export type NewLineage = {
  readonly stepKey: number;
  /** The checkpoint that the session is rolled back to; null for its beginning. */
  readonly checkpoint: number | null;
  /** The session changes of that rollback. */
  readonly slices: readonly SliceChange[];
  /** For the calls of the open turn that were never dispatched, and will not be. */
  readonly receipts?: readonly NewReceipt[];
  readonly fingerprint: { readonly hash: string; readonly document: Json };
};

/** The charge for a model attempt that brought no response. */
export type ModelCallSettlement = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly charge: Charge;
  /** Set if the provider took no requests. It is part of the event, so that other processes see what the run waits for. */
  readonly outage?: ModelOutage | null;
  /** True if the run or its exchange was stopped meanwhile, or a message interrupted it. It is part of the event. */
  readonly isInterrupted?: boolean;
};

/** A provider that takes no requests, as of one refused model attempt. Times are in milliseconds since 1970. */
export type ModelOutage = {
  /** The first refusal in a row. */
  readonly since: number;
  /** When the provider is asked again; null if it is not. */
  readonly retryAt: number | null;
  /** The HTTP status of the refusal; null if there was no connection. */
  readonly status: number | null;
};

/** The response of a turn, with its charge and its tool calls. */
export type TurnJournal = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly charge: Charge;
  readonly response: StoredResponse;
  /** Tokens of the response as a message. */
  readonly tokens: number;
  readonly calls: readonly NewToolCall[];
  /** The outcomes of calls that have already ended, because the provider ran them: they are never in doubt. */
  readonly receipts?: readonly NewReceipt[];
  /** Taken before the calls are dispatched. */
  readonly checkpoint?: NewCheckpoint;
};

/** A tool call of a response, to be journaled. */
export type NewToolCall = {
  /** From 1, in the order of the response. */
  readonly callIndex: number;
  readonly namespace: string;
  readonly tool: string;
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
  readonly identityHash: Uint8Array;
  readonly occurrence: number;
  readonly idempotencyKey: Uint8Array;
  readonly status: "prepared" | "running";
  /** The longest that its current attempt can take; ignored if it is not running. */
  readonly timeoutMs: number;
};

/** A tool call that a code step makes. */
export type CodeToolCall = Omit<NewToolCall, "callIndex"> & {
  readonly stepKey: number;
  readonly request: Json;
  /** Taken before it is dispatched. */
  readonly checkpoint?: NewCheckpoint;
};

/** One call of a step, made by a turn or by code. */
export type ToolCallKey = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndex: number;
};

/** A call to start. */
export type CallStart = {
  readonly callIndex: number;
  readonly timeoutMs: number;
  /**
   * The hash of the arguments that will be sent, for a call that may run only if exactly these were approved.
   */
  readonly approvedArguments: string | null;
};

/** The calls of a turn that are about to be dispatched. */
export type ToolCallStart = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly calls: readonly CallStart[];
  /** Taken before they are dispatched. */
  readonly checkpoint?: NewCheckpoint;
};

/** The outside system's id for an attempt: a message id, a request id. */
export type ToolCallCorrelation = ToolCallKey & { readonly attempt: number; readonly correlationId: string };

/** The end of an attempt that brought no receipt. */
export type ToolCallAttemptEnd = ToolCallKey & {
  readonly attempt: number;
  readonly outcome: FailedAttemptOutcome;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly correlationId: string | null;
  /** True if its effect is unknown: the call is then in doubt. */
  readonly inDoubt: boolean;
  /** False for an attempt that was given up on and may still be running. */
  readonly hasEnded: boolean;
};

/** The outcome of a tool call, to be stored. */
export type NewReceipt = {
  readonly callIndex: number;
  readonly status: ReceiptStatus;
  /** As the model sees it; with a blob, its `value` is the reference. */
  readonly output: ToolOutput;
  readonly blob: { readonly blobId: string; readonly bytes: Uint8Array } | null;
  /** Tokens of the whole result as a message, blob included. */
  readonly tokens: number;
  readonly errorCode: string | null;
  /** It failed, but may have happened anyway. */
  readonly uncertain: boolean;
  readonly source: ReceiptSource;
  /** The outside system's id for it: a message id, a request id. */
  readonly correlationId: string | null;
  /** The call whose receipt this one repeats. */
  readonly duplicateOf: string | null;
  /** Applied to the session when its turn is committed; none by default. */
  readonly sessionEvents?: readonly SessionEvent[];
};

/** A receipt, and the turn that it belongs to. */
export type ReceiptRecord = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly receipt: NewReceipt;
};

/** A receipt from a worker that has lost the run. */
export type LateReceipt = {
  readonly runId: string;
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly receipt: NewReceipt;
};

/** The outcome of a request to cancel a run. */
export type CancelOutcome =
  /** No process held it: it is cancelled now. Calls that were running when its worker died are in doubt. */
  | { readonly kind: "ended"; readonly run: RunRecord; readonly inDoubt: readonly string[] }
  /** Its worker will cancel it. */
  | { readonly kind: "requested"; readonly owner: string; readonly underWay: readonly string[] }
  /** It had already ended. */
  | { readonly kind: "over"; readonly run: RunRecord };

/** An artifact to store. */
export type NewArtifact = {
  /** Null if no step made it: then it belongs to the run. */
  readonly stepKey: number | null;
  readonly name: string;
  readonly bytes: Uint8Array;
};

/** A new run that continues from a turn of another. */
export type NewFork = {
  readonly parent: string;
  readonly runId: string;
  /** The granular step whose turns are copied. */
  readonly stepPath: StepPath;
  /** The last turn to copy. */
  readonly turnIndex: number;
  /** The session as it was after that turn. */
  readonly slices: readonly SliceChange[];
  readonly checkpoint: NewCheckpoint;
  readonly startedBy?: Person;
};

/** A step continues with a different configuration than it began with, because a person accepted that. */
export type AcceptedDivergence = {
  readonly stepKey: number;
  readonly fingerprint: { readonly hash: string; readonly document: Json };
  readonly why: string;
  /** Identifies what is different, for the record; by default it is not recorded. */
  readonly changesHash?: string;
};

/** A journaled response is dropped, and the model is asked again. */
export type DroppedTurn = { readonly stepKey: number; readonly turnIndex: number };
