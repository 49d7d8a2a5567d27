import type { StoredError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import type { ToolOutput } from "../core/message.ts";
import type { Limit } from "../core/quota.ts";
import type { SideEffectClass } from "../core/tool-call-decision.ts";
import type { Amount } from "../core/usage.ts";
import type { Charge, ModelCallRecord, RunRecord, RunStatus, StoredResponse } from "./store-records.ts";

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
  readonly leaseMs: number;
};

export type ClaimOptions = {
  readonly leaseMs: number;
  /** Only a run in one of these statuses is taken. */
  readonly from: readonly RunStatus[];
  /** Replaces the budget; what was charged stays charged. */
  readonly limit?: Limit;
};

export type Claim = { readonly epoch: number; readonly run: RunRecord };

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly claim: Claim; readonly chargedAsLost: readonly ModelCallRecord[] }
  | { readonly kind: "busy"; readonly owner: string; readonly until: number }
  | { readonly kind: "refused"; readonly run: RunRecord }
  | { readonly kind: "not_found" };

export type RunEnd =
  | { readonly status: "succeeded"; readonly output: Json; readonly context: Json }
  | { readonly status: "failed" | "waiting" | "cancelled"; readonly error: StoredError | null };

/** `context` is null when the step left it as it was. */
export type FinishedStep = { readonly stepKey: number; readonly output: Json; readonly context: Json };

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
};

export type NewToolCall = {
  /** From 1, in the order of the response. */
  readonly callIndex: number;
  readonly namespace: string;
  readonly tool: string;
  readonly effect: SideEffectClass;
  readonly identityHash: Uint8Array;
  readonly occurrence: number;
  readonly idempotencyKey: Uint8Array;
  readonly status: "prepared" | "running";
};

export type CodeToolCall = Omit<NewToolCall, "callIndex" | "status"> & {
  readonly stepKey: number;
  readonly request: Json;
};

export type ToolCallStart = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly callIndexes: readonly number[];
};

export type NewReceipt = {
  readonly callIndex: number;
  readonly status: "succeeded" | "failed";
  /** What the model sees; with a blob, its `value` is the reference. */
  readonly output: ToolOutput;
  readonly blob: { readonly blobId: string; readonly bytes: Uint8Array } | null;
  /** Tokens of the whole result as a message, blob included. */
  readonly tokens: number;
  readonly errorCode: string | null;
};

export type ReceiptRecord = {
  readonly stepKey: number;
  readonly turnIndex: number;
  readonly receipt: NewReceipt;
  readonly start: readonly number[];
};

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
};

export type BlobRetention = {
  /** Blobs of runs that ended longer ago than this are deleted. */
  readonly olderThanMs: number;
  /** When the blobs of ended runs are more than this, the oldest go too. */
  readonly maxBytes: number;
  readonly dryRun?: boolean;
};

export type BlobCollection = { readonly blobs: number; readonly bytes: number };
