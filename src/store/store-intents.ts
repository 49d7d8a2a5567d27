import type {
  FailedAttemptOutcome,
  ReceiptStatus,
  RecoveryClass,
  SideEffectClass,
} from "../core/call/tool-call-decision.ts";
import type { StoredError } from "../core/errors.ts";
import type { RunSpec } from "../core/job/run-spec.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { ToolOutput } from "../core/message.ts";
import type { Person } from "../core/person.ts";
import type { SessionEvent } from "../core/session-event.ts";
import type { StepPath } from "../core/step-path.ts";
import type { BudgetName } from "../core/usage/budget.ts";
import type { Limit } from "../core/usage/quota.ts";
import type { Amount } from "../core/usage/usage.ts";
import type { NewWait } from "../core/wait.ts";
import type {
  Charge,
  CheckpointType,
  ModelCallRecord,
  ReceiptSource,
  RunRecord,
  RunStatus,
  StoredResponse,
} from "./store-records.ts";

// What a worker hands to a store, and what the store decides about it.

/** A worker's right to write: the run, and the number that later owners exceed. */
export type Fence = { readonly runId: string; readonly epoch: number };

export type NewRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly entrypoint: string;
  readonly input: Json;
  readonly inputHash: Uint8Array;
  readonly shape: Json;
  readonly limit: Limit;
  /** When its time is over, in milliseconds since 1970; never unless said. */
  readonly deadline?: number | null;
  /** The contract of the run. Its budgets set `limit` and `deadline` where those are not given. */
  readonly spec?: RunSpec | null;
  /** Who started it, for whoever is to be another one. */
  readonly startedBy?: Person;
  readonly leaseMs: number;
  readonly marksEffects?: boolean;
};

export type ClaimOptions = {
  readonly leaseMs: number;
  /** Only a run in one of these statuses is taken. */
  readonly from: readonly RunStatus[];
  /** Replaces the budget; what was charged stays charged. */
  readonly limit?: Limit;
  /** Replaces the deadline. */
  readonly deadline?: number | null;
  /** Replaces these budgets of the run, and with them its limit and deadline; what was used stays used. */
  readonly budgets?: { readonly [B in BudgetName]?: number };
  /** Where this worker goes on from, and why: kept with the attempt. */
  readonly attempt?: AttemptReason;
  /**
   * Whether the worker calls `beginEffect` before everything that it sends. Only then is what it never began known not to
   * have been sent, should its process die.
   */
  readonly marksEffects?: boolean;
};

/** One try of something that leaves the process: of a turn's model call, or of a tool call. */
export type EffectAttempt = {
  readonly stepKey: number;
  /** 0 for the calls of a code step. */
  readonly turnIndex: number;
  /** 0 for the model call of the turn. */
  readonly callIndex: number;
  readonly attempt: number;
};

/** Without a reason of its own, an attempt's is what the run was found as. */
export type AttemptReason = { readonly resumedFrom: "turn" | "milestone"; readonly reason: string | null };

export type Claim = { readonly epoch: number; readonly run: RunRecord };

export type ClaimOutcome =
  | {
      readonly kind: "claimed";
      readonly claim: Claim;
      readonly chargedAsLost: readonly ModelCallRecord[];
      /** The calls that were running when the worker before stopped, by their ids. */
      readonly foundInDoubt: readonly string[];
    }
  | { readonly kind: "busy"; readonly owner: string; readonly until: number }
  | { readonly kind: "refused"; readonly run: RunRecord }
  | { readonly kind: "not_found" };

export type RunEnd =
  | { readonly status: "succeeded"; readonly output: Json; readonly context: Json }
  | { readonly status: "failed" | "cancelled"; readonly error: StoredError | null }
  /** Let go of in good order, for whoever goes on with it. */
  | { readonly status: "queued" }
  | {
      readonly status: "waiting";
      readonly error: StoredError | null;
      /** What a person is asked. An open wait about the same call stays the one; a call settled meanwhile needs none. */
      readonly waits: readonly NewWait[];
    };

/** `context` is null when the step left it as it was. */
export type FinishedStep = {
  readonly stepKey: number;
  readonly output: Json;
  readonly context: Json;
  readonly session?: SessionCommit;
};

/** What a commit does to the run's session. */
export type SessionCommit = {
  readonly slices: readonly SliceChange[];
  /** The ids of the calls whose events the session has from now on. */
  readonly applied: readonly string[];
  readonly checkpoint: NewCheckpoint | null;
};

/** What changed in a slice: the items that did, and its length, which those beyond it do not survive. */
export type SliceChange = {
  readonly name: string;
  readonly kind: "state" | "log";
  readonly version: number;
  readonly length: number;
  readonly items: readonly (readonly [index: number, value: Json])[];
};

export type NewCheckpoint = {
  readonly type: CheckpointType;
  readonly snapshot: JsonObject;
  /** Where it was taken: the last tool call, the artifacts there are. */
  readonly cursor: JsonObject;
};

/** A new line of history of a granular step. */
export type NewLineage = {
  readonly stepKey: number;
  /** The checkpoint that the session is rolled back to; null: to its beginning. */
  readonly checkpoint: number | null;
  /** What that changes in the session. */
  readonly slices: readonly SliceChange[];
  /** Of the calls of the open turn that were never dispatched, and will not be. */
  readonly receipts?: readonly NewReceipt[];
  readonly fingerprint: { readonly hash: string; readonly document: Json };
};

export type TurnOpening = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly reserve: Amount;
  readonly fingerprint: { readonly hash: string; readonly document: Json };
};

export type TurnOpened =
  | { readonly kind: "opened"; readonly attempt: number; readonly reserved: Amount }
  | {
      readonly kind: "denied";
      readonly unit: keyof Amount;
      readonly wanted: number;
      readonly remaining: number;
    };

export type ModelCallSettlement = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly charge: Charge;
};

export type TurnJournal = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly charge: Charge;
  readonly response: StoredResponse;
  /** Tokens of the response as a message. */
  readonly tokens: number;
  readonly calls: readonly NewToolCall[];
  /** Taken before the calls go out. */
  readonly checkpoint?: NewCheckpoint;
};

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
  /** The longest that its try under way can take; nothing without a try. */
  readonly timeoutMs: number;
};

export type CodeToolCall = Omit<NewToolCall, "callIndex"> & {
  readonly stepKey: number;
  readonly request: Json;
  /** Taken before it goes out. */
  readonly checkpoint?: NewCheckpoint;
};

/** One call of a step: of a turn, or of its code. */
export type ToolCallKey = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndex: number;
};

/** A call that is to run. */
export type CallStart = {
  readonly callIndex: number;
  readonly timeoutMs: number;
  /** The hash of the arguments that will go out, for a call that only an approval of just these lets run. */
  readonly approvedArguments: string | null;
};

export type ToolCallStart = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly calls: readonly CallStart[];
  /** Taken before they go out. */
  readonly checkpoint?: NewCheckpoint;
};

/** What the outside system calls a try: a message id, a request id. */
export type ToolCallCorrelation = ToolCallKey & { readonly attempt: number; readonly correlationId: string };

/** How a try ended that brought no receipt. */
export type ToolCallAttemptEnd = ToolCallKey & {
  readonly attempt: number;
  readonly outcome: FailedAttemptOutcome;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly correlationId: string | null;
  /** Whether nobody knows what it did: the call is then in doubt. */
  readonly inDoubt: boolean;
  /** False for a try that was given up on and may still be at work. */
  readonly hasEnded: boolean;
};

export type NewReceipt = {
  readonly callIndex: number;
  readonly status: ReceiptStatus;
  /** What the model sees; with a blob, its `value` is the reference. */
  readonly output: ToolOutput;
  readonly blob: { readonly blobId: string; readonly bytes: Uint8Array } | null;
  /** Tokens of the whole result as a message, blob included. */
  readonly tokens: number;
  readonly errorCode: string | null;
  /** It failed, and may have happened all the same. */
  readonly uncertain: boolean;
  readonly source: ReceiptSource;
  /** What the outside system calls it: a message id, a request id. */
  readonly correlationId: string | null;
  /** The call whose receipt this one repeats. */
  readonly duplicateOf: string | null;
  /** What it tells the session, when its turn is committed; nothing unless said. */
  readonly sessionEvents?: readonly SessionEvent[];
};

export type ReceiptRecord = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly receipt: NewReceipt;
};

/** A receipt that comes from a worker that has lost the run. */
export type LateReceipt = {
  readonly runId: string;
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly receipt: NewReceipt;
};

/** What became of the wish to end a run. */
export type CancelOutcome =
  /** Nobody had it: it is cancelled now. The calls that were under way when its worker died are in doubt. */
  | { readonly kind: "ended"; readonly run: RunRecord; readonly inDoubt: readonly string[] }
  /** Its worker will see to it. */
  | { readonly kind: "requested"; readonly owner: string; readonly underWay: readonly string[] }
  /** It had ended by itself. */
  | { readonly kind: "over"; readonly run: RunRecord };

export type NewArtifact = {
  /** Null where no step made it: then it is the run's. */
  readonly stepKey: number | null;
  readonly name: string;
  readonly bytes: Uint8Array;
};

/** A new run that goes on from a turn of another. */
export type NewFork = {
  readonly parent: string;
  readonly runId: string;
  /** The granular step whose turns are taken over. */
  readonly stepPath: StepPath;
  /** The last turn that is. */
  readonly turnIndex: number;
  /** The session as it was then. */
  readonly slices: readonly SliceChange[];
  readonly checkpoint: NewCheckpoint;
  readonly startedBy?: Person;
};

/** A step goes on under another configuration than it began with, because somebody said so. */
export type AcceptedDivergence = {
  readonly stepKey: number;
  readonly fingerprint: { readonly hash: string; readonly document: Json };
  readonly why: string;
};

/** A journaled response is given up, and the model is asked again. */
export type DroppedTurn = { readonly stepKey: number; readonly turnIndex: number };

export type TurnCommit = {
  readonly stepKey: number;
  readonly turnIndex: number;
  /** A response without tool calls is journaled and committed in one. */
  readonly journal: TurnJournal | null;
  /** The user message that follows the response, where the agent has to be told to go on. */
  readonly followUp: string | null;
  readonly receipts: readonly NewReceipt[];
  readonly isComplete: boolean;
  /** What this turn added to the history. */
  readonly messages: number;
  readonly tokens: number;
  readonly next: TurnOpening | null;
  readonly session?: SessionCommit;
};

export type BlobRetention = {
  /** Blobs of runs that ended longer ago than this are deleted. */
  readonly olderThanMs: number;
  /** When the blobs of ended runs are more than this, the oldest go too. */
  readonly maxBytes: number;
  readonly dryRun?: boolean;
};

export type BlobCollection = { readonly blobs: number; readonly bytes: number };
