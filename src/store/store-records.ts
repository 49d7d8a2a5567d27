import type {
  FailedAttemptOutcome,
  ReceiptStatus,
  RecoveryClass,
  SideEffectClass,
  ToolCallStatus,
} from "../core/call/tool-call-decision.ts";
import type { StoredError } from "../core/errors.ts";
import type { Budgets, RunSpec } from "../core/job/run-spec.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { Lineage } from "../core/lineage.ts";
import type { AssistantPart, Message, ToolOutput } from "../core/message.ts";
import type { Decision } from "../core/person.ts";
import type { SessionEvent } from "../core/session-event.ts";
import type { StepPath } from "../core/step-path.ts";
import type { Limit } from "../core/usage/quota.ts";
import type { Amount, ChargeBasis, Usage } from "../core/usage/usage.ts";
import type { WaitAnswer, WaitKind } from "../core/wait.ts";

import type { WorkerRequest } from "./checkpoint-store.ts";

// What a store gives to its readers.

export type RunStatus = "queued" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";

export type StepStatus = "ready" | "running" | "blocked" | "succeeded" | "failed" | "skipped";

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
  /** When its time is over; null: never. */
  readonly deadline: number | null;
  /** What it was started to do; null where it has no contract. */
  readonly spec: RunSpec | null;
  /** What it may use: the budgets of its spec, and what people allowed since. */
  readonly budgets: Budgets | null;
  /** When somebody wanted it to end, while a worker had it. */
  readonly cancelRequestedAt: number | null;
  readonly forkedFrom: ForkOrigin | null;
  /** Who started it; null where nobody said. */
  readonly startedBy: Decision | null;
  readonly charged: Amount;
  readonly reserved: Amount;
  readonly output: Json;
  /** The context at the end of a run that succeeded. */
  readonly context: Json;
  readonly error: StoredError | null;
};

/** The turn that a fork goes on from. */
export type ForkOrigin = {
  readonly runId: string;
  readonly stepPath: StepPath;
  readonly turnIndex: number;
  /** The run that its line of forks began with: what is salted by a run is salted by that one. */
  readonly firstRunId: string;
  /** How much it began with, which it has not done itself. */
  readonly steps: number;
  readonly toolCalls: number;
};

/** Something that a run has made. */
export type ArtifactRecord = {
  readonly name: string;
  readonly size: number;
  /** SHA-256 of its bytes, in hex: the name of its blob. */
  readonly hash: string;
  /** The step that made it; the root of the run where none did. */
  readonly stepPath: StepPath;
  readonly at: number;
};

export type RunFilter = {
  readonly status?: RunStatus;
  readonly pipeline?: string;
  readonly limit?: number;
};

export type StepRecord = NewStep & {
  /** The store's own handle of the instance. */
  readonly stepKey: number;
  readonly stepIndex: number;
  readonly status: StepStatus;
  readonly output: Json;
  /** The context as the finished step left it; null when it left it as it was. */
  readonly context: Json;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** What an iteration came to, so that the next one, or the end of the loop, needs nothing of the ones before. */
export type LoopDecision = {
  readonly stepKey: number;
  readonly iteration: number;
  readonly done: boolean;
  readonly output: Json;
  /** Null when the iteration left it as it was. */
  readonly context: Json;
};

export type Charge = { readonly basis: ChargeBasis; readonly amount: Amount; readonly usage: Usage };

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

export type StoredResponse = {
  readonly content: readonly AssistantPart[];
  readonly finishReason: string;
  readonly responseId: string | null;
  /** Tool calls that cannot be run as they are: the provider's call id → what to tell the model. */
  readonly invalidCalls?: { readonly [toolCallId: string]: string };
};

/** Where a receipt comes from: the tool, a look-up, a person, a worker that had lost the run, or Pawl itself. */
export type ReceiptSource = "tool" | "reconciled" | "person" | "late" | "pawl";

export type Receipt = {
  readonly status: ReceiptStatus;
  readonly output: ToolOutput;
  readonly blob: { readonly blobId: string; readonly size: number } | null;
  readonly tokens: number;
  readonly errorCode: string | null;
  /** It failed, and may have happened all the same: the same again needs a person. */
  readonly uncertain: boolean;
  readonly source: ReceiptSource;
  /** What the outside system calls it: a message id, a request id. */
  readonly correlationId: string | null;
  /** The call whose receipt this one repeats. */
  readonly duplicateOf: string | null;
  /** What the call tells the session. */
  readonly sessionEvents: readonly SessionEvent[];
  readonly at: number;
};

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
  /** How often it was dispatched. */
  readonly attempt: number;
  /** Its failure ended its code step: when that is entered again, the same is asked for anew. */
  readonly isSuperseded: boolean;
  /** The arguments, as they were asked for. */
  readonly request: Json;
  readonly receipt: Receipt | null;
  readonly createdAt: number;
  /** When it was dispatched last; null while it waits. */
  readonly startedAt: number | null;
  /** When the last try has ended at the latest. */
  readonly endsBy: number | null;
};

/** A try that brought no receipt. The one that did is told by its receipt. */
export type ToolCallAttempt = {
  readonly toolCallId: string;
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: FailedAttemptOutcome;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly correlationId: string | null;
  /** What it came to after all, told when the call was settled already: evidence, and nothing else. */
  readonly late: { readonly at: number; readonly status: ReceiptStatus; readonly output: ToolOutput } | null;
};

export type WaitRecord = {
  readonly waitId: string;
  readonly runId: string;
  readonly kind: WaitKind;
  /** The call that it is about; null for a question about the run, and where the call went with its dropped turn. */
  readonly toolCallId: string | null;
  /** Which try of the call it is about; 0 where it was not tried yet. */
  readonly attempt: number;
  readonly question: string;
  readonly subject: JsonObject;
  readonly argumentsHash: string | null;
  /** `withdrawn`: it needed no answer any more. */
  readonly status: "open" | "answered" | "withdrawn";
  readonly createdAt: number;
  readonly answeredAt: number | null;
  readonly answeredBy: string | null;
  /** Who has decided so far: of an open one, who has approved it where it takes more than one person. */
  readonly people: readonly Decision[];
  readonly answer: WaitAnswer | null;
  /**
   * What is wrong with the run that asks, where its questions are listed to be answered: it is not as it was written, so what
   * is shown here is not to be believed, and no answer is taken.
   */
  readonly distrusted?: string;
};

/** What a look at all that is stored of a run came to. */
export type Verification = {
  readonly runId: string;
  readonly events: number;
  readonly receipts: number;
  readonly blobs: number;
  /** Empty where everything is as it was written. */
  readonly problems: readonly VerificationProblem[];
};

export type VerificationProblem = {
  /** Which row: `event 12`, `receipt q-1/research#2.1`, `blob 9f…`. */
  readonly row: string;
  readonly what: string;
};

export type TurnRecord = {
  readonly stepPath: StepPath;
  readonly turnIndex: number;
  readonly response: StoredResponse;
  readonly tokens: number;
  readonly followUp: string | null;
  readonly calls: readonly ToolCallRecord[];
  readonly committed: boolean;
  readonly at: number;
};

/** What the next turn of a granular step starts from. */
export type Conversation = {
  readonly turnIndex: number;
  readonly isComplete: boolean;
  readonly fingerprint: { readonly hash: string; readonly document: Json } | null;
  /** The lines of history after the first one; the last of them is the present one. */
  readonly lineages: readonly Lineage[];
  /** How many messages and tokens the committed turns of this line hold, those not in `tail` included. */
  readonly messages: number;
  readonly tokens: number;
  /** The newest committed turns, in order; at least the last one. */
  readonly tail: readonly TurnRecord[];
  /** The turn after them, where its response was journaled and not committed. */
  readonly journaled: TurnRecord | null;
};

export type GranularState = {
  readonly turnIndex: number;
  readonly history: readonly Message[];
  readonly isComplete: boolean;
  readonly finalOutput: Json;
  /** Empty where a fork has not been opened by any agent yet. */
  readonly fingerprint: string;
};

/** The session as it is stored: every slice with all of its values. */
export type StoredSlice = {
  readonly name: string;
  readonly kind: "state" | "log";
  readonly version: number;
  readonly values: readonly Json[];
};

/**
 * `milestone`: the agent said that it got somewhere. `step_boundary`, `phase_boundary`: a step, or the last one of its phase,
 * has ended. `pre_side_effect`: something outside is about to be changed; nobody goes back to it, it tells where the run
 * stood.
 */
export type CheckpointType = "milestone" | "step_boundary" | "phase_boundary" | "pre_side_effect";

export type CheckpointRecord = {
  /** From 1, in the order of the run. */
  readonly checkpoint: number;
  readonly type: CheckpointType;
  readonly stepPath: StepPath;
  /** The turn that it was committed with; 0 at the end of a step. */
  readonly turnIndex: number;
  readonly cursor: JsonObject;
  /** Bytes of the snapshot as JSON. */
  readonly size: number;
  /** The session was rolled back to an earlier one since. */
  readonly isSuperseded: boolean;
  readonly at: number;
};

export type CheckpointSnapshot = CheckpointRecord & { readonly snapshot: JsonObject };

export type WorkRecord = WorkerRequest & { readonly completedAt: number | null };

export type LineageRecord = Lineage & {
  readonly stepPath: StepPath;
  /** From 1: the line that a step begins with is not listed. */
  readonly lineage: number;
  /** The turn that was open when this line began, and was never committed. */
  readonly openTurn: number | null;
  readonly checkpoint: number | null;
  readonly at: number;
};

/** One time that a worker took the run. */
/** What a worker left open, as the next one to take the run would find it. */
export type LeftBehind = {
  /** What is charged for requests of which nobody knows whether they were answered. */
  readonly chargedAsLost: Amount;
  /** Tries of tool calls that were certainly never sent: they are in no doubt. */
  readonly unsent: readonly { readonly toolCallId: string; readonly attempt: number }[];
};

/** A run that was given a certain input. */
export type RunOfInput = { readonly run: RunRecord; readonly isHeld: boolean };

export type AttemptRecord = {
  readonly epoch: number;
  readonly owner: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** `interrupted`: the worker gave the run up in good order, and left it to be resumed. */
  readonly endStatus: RunStatus | "interrupted" | null;
  /** Null for the first one. */
  readonly resumedFrom: "turn" | "milestone" | null;
  readonly reason: string | null;
  /** The W3C `traceparent` of its span; null where nothing was traced. */
  readonly traceParent: string | null;
};

export type RunUsage = Usage & { readonly charged: Amount; readonly modelCalls: number };

export type EventRecord = {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  /** The facts of the intent; and for `verify` the digests of the rows that it wrote (`rows`) and what is charged and reserved (`quota`). */
  readonly data: Json;
  /** Chains the run's events: the hash of this one covers the hash of the one before it. */
  readonly hash: string;
};

/** Which events of a run: those after one, at most so many. */
export type EventRange = { readonly after?: number; readonly limit?: number };

/**
 * A part of a list, in the order of the list: what follows the place of a record, at most so many. The last record of a part
 * is what the next one comes `after`; it need not be there any more. Without a range, it is the whole list.
 */
export type ListRange<T, Place extends keyof T> = {
  readonly after?: Pick<T, Place>;
  readonly limit?: number;
};

export type StepRange = ListRange<StepRecord, "path">;
export type TurnRange = ListRange<TurnRecord, "stepPath" | "turnIndex">;
export type ModelCallRange = ListRange<ModelCallRecord, "stepPath" | "turnIndex" | "attempt">;
export type ToolCallRange = ListRange<ToolCallRecord, "stepPath" | "turnIndex" | "callIndex">;
export type ToolCallAttemptRange = ListRange<ToolCallAttempt, "toolCallId" | "attempt">;
export type WaitRange = ListRange<WaitRecord, "waitId">;
export type CheckpointRange = ListRange<CheckpointRecord, "checkpoint">;

export type NewStep = {
  readonly path: StepPath;
  readonly name: string;
  readonly kind: string;
  readonly phase: string;
  readonly input: Json;
};
