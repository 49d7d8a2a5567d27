import type {
  FailedAttemptOutcome,
  ReceiptStatus,
  RecoveryClass,
  SideEffectClass,
  ToolCallStatus,
} from "../core/call/tool-call-decision.ts";
import type { Budgets } from "../core/job/budgets.ts";
import type { RunSpec } from "../core/job/run-spec.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { Lineage } from "../core/lineage.ts";
import type { AssistantPart, Message, ToolOutput } from "../core/message.ts";
import type { Decision } from "../core/person.ts";
import type { RequestedResume } from "../core/run/resume-request.ts";
import type { SessionEvent } from "../core/session-event.ts";
import type { StepPath } from "../core/step-path.ts";
import type { StoredError } from "../core/stored-error.ts";
import type { Limit } from "../core/usage/quota.ts";
import type { Amount, ChargeBasis, Usage } from "../core/usage/usage.ts";
import type { OnDue, WaitAnswer, WaitKind } from "../core/wait.ts";

import type { WorkerRequest } from "./checkpoint-store.ts";
import type { TakenMessage } from "./exchange/exchange-records.ts";
import type { RunMetadata } from "./queue-records.ts";
import type { OwnStatus, RunMove, RunStatus } from "./run-move.ts";

// The records that a store returns.

/** The status of a step. */
export type StepStatus = "ready" | "running" | "blocked" | "succeeded" | "failed" | "skipped";

/** A run, as it is stored. */
export type RunRecord = {
  readonly runId: string;
  readonly pipeline: string;
  readonly entrypoint: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly inputHash: Uint8Array;
  readonly currentStep: StepPath | null;
  readonly owner: string | null;
  readonly epoch: number;
  readonly leaseUntil: number;
  readonly limit: Limit;
  /** In milliseconds since 1970; null for none. */
  readonly deadline: number | null;
  /** The contract of the run; null if it has none. */
  readonly spec: RunSpec | null;
  /** The budgets of its spec, with later increases by people. */
  readonly budgets: Budgets | null;
  /** When a cancellation was requested while a worker held the run. */
  readonly cancelRequestedAt: number | null;
  readonly forkedFrom: ForkOrigin | null;
  /** Where it was moved to; null unless its status is `moved`. */
  readonly moved: RunMove | null;
  /** Null if it was not given. */
  readonly startedBy: Decision | null;
  readonly charged: Amount;
  readonly reserved: Amount;
  readonly output: Json;
  /** The context at the end of a run that succeeded. */
  readonly context: Json;
  readonly error: StoredError | null;
  /** The artifact that is its result, as it was when the run succeeded; null if its contract does not say which. */
  readonly finalArtifact: Pick<ArtifactRecord, "name" | "hash"> | null;
  readonly queue: string;
  readonly concurrencyKey: string | null;
  readonly priority: number;
  readonly metadata: RunMetadata | null;
  /** What its tools get as `call.run.context`; null if nothing was given. */
  readonly callContext: Json;
  /** When it became ready for a worker, or will; null unless it is queued, and of a fork that was not started. */
  readonly readyAt: number | null;
  /** When the clock has something to do about it; null if never. */
  readonly wakeAt: number | null;
  /** How many workers in a row died in it without a commit. */
  readonly stalls: number;
  /** The version of the worker that held it last. */
  readonly workerVersion: string | null;
  /** A resume that a person has asked for, until it is done; null if none. */
  readonly resumeRequest: RequestedResume | null;
};

/** The turn that a fork continues from. */
export type ForkOrigin = {
  readonly runId: string;
  readonly stepPath: StepPath;
  readonly turnIndex: number;
  /** The first run in its chain of forks: values salted by a run are salted by that one. */
  readonly firstRunId: string;
  /** The number of steps and tool calls that it started with and did not perform itself. */
  readonly steps: number;
  readonly toolCalls: number;
};

/** Something a run has made. */
export type ArtifactRecord = {
  readonly name: string;
  readonly size: number;
  /** SHA-256 of its bytes, in hex: the name of its blob. */
  readonly hash: string;
  /** The step that made it; the root path if none did. */
  readonly stepPath: StepPath;
  readonly at: number;
};

/** An instance of a step, as it is stored. */
export type StepRecord = NewStep & {
  /** The store's own handle of the instance. */
  readonly stepKey: number;
  readonly stepIndex: number;
  readonly status: StepStatus;
  readonly output: Json;
  /** The context after the finished step; null if the step left it unchanged. */
  readonly context: Json;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/**
 * The result of an iteration, so that the next one, or the end of the loop, needs nothing from earlier ones.
 */
export type LoopDecision = {
  readonly stepKey: number;
  readonly iteration: number;
  readonly done: boolean;
  readonly output: Json;
  /** Null if the iteration left it unchanged. */
  readonly context: Json;
};

/** What a model attempt costs, and on what basis. */
export type Charge = { readonly basis: ChargeBasis; readonly amount: Amount; readonly usage: Usage };

/** A model attempt, as it is stored. */
export type ModelCallRecord = {
  readonly stepPath: StepPath;
  readonly turnIndex: number;
  readonly attempt: number;
  readonly reserved: Amount;
  /** Null while the call is open. */
  readonly charge: Charge | null;
  readonly openedAt: number;
  readonly settledAt: number | null;
};

/** A journaled response of a model. */
export type StoredResponse = {
  readonly content: readonly AssistantPart[];
  readonly finishReason: string;
  readonly responseId: string | null;
  /** Tool calls that cannot be run as they are: the provider's call id → the error for the model. */
  readonly invalidCalls?: { readonly [toolCallId: string]: string };
};

/** The source of a receipt: the tool, a look-up, a person, a worker that had lost the run, or Pawl itself. */
export type ReceiptSource = "tool" | "reconciled" | "person" | "late" | "pawl";

/** The stored outcome of a tool call. */
export type Receipt = {
  readonly status: ReceiptStatus;
  readonly output: ToolOutput;
  readonly blob: { readonly blobId: string; readonly size: number } | null;
  readonly tokens: number;
  /** Also `other_arguments`, of a deduplicated call whose arguments were not those of the first call. */
  readonly errorCode: string | null;
  /** It failed, but may have happened anyway: repeating it needs a person. */
  readonly uncertain: boolean;
  readonly source: ReceiptSource;
  /** The outside system's id for it: a message id, a request id. */
  readonly correlationId: string | null;
  /** The call whose receipt this one repeats. */
  readonly duplicateOf: string | null;
  /** The events of the call for the session. */
  readonly sessionEvents: readonly SessionEvent[];
  readonly at: number;
};

/** A row of the ledger. */
export type ToolCallRecord = {
  readonly toolCallId: string;
  readonly stepPath: StepPath;
  readonly turnIndex: number;
  readonly callIndex: number;
  readonly namespace: string;
  readonly tool: string;
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
  readonly identityHash: string;
  readonly occurrence: number;
  readonly idempotencyKey: string;
  readonly status: ToolCallStatus;
  /** The number of times it was dispatched. */
  readonly attempt: number;
  /** Its failure ended its code step: when the step is entered again, the same call gets a new row. */
  readonly isSuperseded: boolean;
  /** The arguments, as requested. */
  readonly request: Json;
  readonly receipt: Receipt | null;
  readonly createdAt: number;
  /** When it was last dispatched; null if it never was. */
  readonly startedAt: number | null;
  /** When its last attempt ends at the latest. */
  readonly endsBy: number | null;
};

/** An attempt that brought no receipt. The attempt that brought one is described by the receipt. */
export type ToolCallAttempt = {
  readonly toolCallId: string;
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: FailedAttemptOutcome;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly correlationId: string | null;
  /** Its outcome, if it arrived after the call was settled: evidence only. */
  readonly late: { readonly at: number; readonly status: ReceiptStatus; readonly output: ToolOutput } | null;
};

/** A question to a person, with its answer. */
export type WaitRecord = {
  readonly waitId: string;
  readonly runId: string;
  readonly kind: WaitKind;
  /**
   * The call it is about; null for a question about the run, and if the call was removed with its dropped
   * turn.
   */
  readonly toolCallId: string | null;
  /** The attempt of the call that it is about; 0 if the call was never dispatched. */
  readonly attempt: number;
  readonly question: string;
  readonly subject: JsonObject;
  readonly argumentsHash: string | null;
  /** `withdrawn`: it no longer needs an answer. */
  readonly status: "open" | "answered" | "withdrawn";
  readonly createdAt: number;
  readonly answeredAt: number | null;
  readonly answeredBy: string | null;
  /**
   * The people who have decided so far; for an open wait, those who have approved it if it needs more than
   * one.
   */
  readonly people: readonly Decision[];
  readonly answer: WaitAnswer | null;
  /** The events that answer it, for a wait of the kind `message`. */
  readonly matches: string | null;
  /** When the clock acts on it, and what it does then; null if never. */
  readonly dueAt: number | null;
  readonly onDue: OnDue | null;
  /** When people are reminded next, and how often they were. */
  readonly remindAt: number | null;
  readonly reminders: number;
  /** When nobody had answered in time, and it was marked for people to see. */
  readonly escalatedAt: number | null;
  /**
   * The problem with the run, in lists of open waits: its rows were changed by another program, so the
   * question shown here cannot be trusted and no answer is accepted.
   */
  readonly distrusted?: string;
};

/** The result of verifying everything that is stored of a run. */
export type Verification = {
  readonly runId: string;
  readonly events: number;
  readonly receipts: number;
  readonly blobs: number;
  /** Empty if everything is as it was written. */
  readonly problems: readonly VerificationProblem[];
};

/** A row that is not what was written. */
export type VerificationProblem = {
  /** The name of the row: `event 12`, `receipt q-1/research#2.1`, `blob 9f…`. */
  readonly row: string;
  readonly what: string;
};

/** A turn, as it is stored. */
export type TurnRecord = {
  readonly stepPath: StepPath;
  readonly turnIndex: number;
  readonly response: StoredResponse;
  readonly tokens: number;
  readonly followUp: string | null;
  readonly calls: readonly ToolCallRecord[];
  /** The messages that it took: they come before its response. */
  readonly taken: readonly TakenMessage[];
  readonly committed: boolean;
  readonly at: number;
};

/** The state from which the next turn of a granular step starts. */
export type Conversation = {
  readonly turnIndex: number;
  readonly isComplete: boolean;
  readonly fingerprint: { readonly hash: string; readonly document: Json } | null;
  /** The lineages that went back to a milestone. One that began with a summary abandoned nothing, and is not among them. */
  readonly lineages: readonly Lineage[];
  /** The summary that this lineage began with; null if it began with none. */
  readonly summary: string | null;
  /** The provider refused the input before any turn had answered it: a mark is shown in its place. */
  readonly isInputRefused: boolean;
  /**
   * The number of messages and tokens in the committed turns of this lineage, including those not in `tail`.
   */
  readonly messages: number;
  readonly tokens: number;
  /** The newest committed turns, in order; at least the last one. */
  readonly tail: readonly TurnRecord[];
  /** The turn after them, if its response was journaled but not committed. */
  readonly journaled: TurnRecord | null;
  /** The messages that the turn after them has taken so far. */
  readonly taken: readonly TakenMessage[];
};

/** The state of an agent's step after its last committed turn. */
export type GranularState = {
  readonly turnIndex: number;
  readonly history: readonly Message[];
  readonly isComplete: boolean;
  readonly finalOutput: Json;
  /** Empty if no agent has opened this fork yet. */
  readonly fingerprint: string;
};

/** The request of a worker, and when it was completed. */
export type WorkRecord = WorkerRequest & { readonly completedAt: number | null };

/** A lineage of a step, as it is stored. */
export type LineageRecord = Lineage & {
  readonly stepPath: StepPath;
  /** From 1: the lineage that a step begins with is not listed. */
  readonly lineage: number;
  /** The turn that was open when this lineage began, and was never committed. */
  readonly openTurn: number | null;
  readonly checkpoint: number | null;
  /** The summary that it began with, if a history was compacted; null if it went back to a milestone. */
  readonly summary: string | null;
  readonly at: number;
};

/** The work a worker left open, as the next worker to claim the run would find it. */
export type LeftBehind = {
  /** The charge for requests whose outcome is unknown. */
  readonly chargedAsLost: Amount;
  /** Attempts of tool calls that were certainly never sent: they are not in doubt. */
  readonly unsent: readonly { readonly toolCallId: string; readonly attempt: number }[];
};

/** A run that was started with a given input. */
export type RunOfInput = { readonly run: RunRecord; readonly isHeld: boolean };

/** One run attempt: one time that a worker claimed the run. */
export type AttemptRecord = {
  readonly epoch: number;
  readonly owner: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** `interrupted`: the worker gave up the run in good order, and left it to be resumed. */
  readonly endStatus: OwnStatus | "interrupted" | null;
  /** Null for the first attempt. */
  readonly resumedFrom: "turn" | "milestone" | null;
  readonly reason: string | null;
  /** The W3C `traceparent` of its span; null if nothing was traced. */
  readonly traceParent: string | null;
};

/** An event of a run, as it is stored. */
export type EventRecord = {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  /**
   * The facts of the intent; for `verify` also the digests of the rows it wrote (`rows`), and the
   * amounts charged and reserved with the counters of the run after it (`head`).
   */
  readonly data: Json;
  /** Chains the run's events: the hash of this one covers the hash of the one before it. */
  readonly hash: string;
};

/** A step to begin. */
export type NewStep = {
  readonly path: StepPath;
  readonly name: string;
  readonly kind: string;
  readonly phase: string;
  readonly input: Json;
};
