import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { blobReferenceOf, renderBlobReference } from "../../core/blob-reference.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { toolCallId } from "../../core/step-path.ts";
import { NO_LIMIT } from "../../core/usage/quota.ts";
import type { Amount } from "../../core/usage/usage.ts";
import type { NewCallWait, NewWait } from "../../core/wait.ts";
import type {
  CallStart,
  Charge,
  ClaimOptions,
  CodeToolCall,
  EventRecord,
  Fence,
  LateReceipt,
  NewReceipt,
  NewRun,
  NewStep,
  NewToolCall,
  RunRecord,
  RunStatus,
  StepRecord,
  Store,
  ToolCallAttempt,
  ToolCallAttemptEnd,
  ToolCallRecord,
  TurnCommit,
  TurnJournal,
  TurnOpened,
  TurnOpening,
  WaitRecord,
} from "../../store/store.ts";

export const LEASE_MS = 30_000;
export const TIMEOUT_MS = 60_000;
export const RESERVE: Amount = { tokens: 100, microDollars: 1_000 };
export const CHARGE: Charge = {
  basis: "provider",
  amount: { tokens: 30, microDollars: 300 },
  usage: { inputTokens: 20, outputTokens: 10, cachedInputTokens: 5, reasoningTokens: 2 },
};
export const FAILED = {
  status: "failed",
  error: { code: "step_failed", message: "It broke.", details: {} },
} as const;
export const SUCCEEDED = { status: "succeeded", output: "done", context: { draft: true } } as const;

/** How a run is placed that says nothing about it. */
export const DEFAULT_PLACE = {
  queue: "default",
  concurrencyKey: null,
  priority: 0,
  metadata: null,
  callContext: null,
  readyAt: null,
  wakeAt: null,
  stalls: 0,
  workerVersion: null,
  resumeRequest: null,
} as const;

/** A wait that nothing but an answer ends. */
export const NO_CLOCK = {
  matches: null,
  dueAt: null,
  onDue: null,
  remindAt: null,
  reminders: 0,
  escalatedAt: null,
} as const;

const LIVE: readonly RunStatus[] = ["queued", "running", "waiting", "failed", "cancelled"];

export function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

export function newRun(runId: string, over: Partial<NewRun> = {}): NewRun {
  return {
    runId,
    pipeline: "report",
    entrypoint: "conformance",
    input: { topic: "ratchets" },
    inputHash: sha256("ratchets"),
    shape: [{ name: "draft", kind: "granular" }],
    limit: NO_LIMIT,
    leaseMs: LEASE_MS,
    ...over,
  };
}

/** A limit, for a new run or a claim. */
export function limited(tokens: number | null, microDollars: number | null = null) {
  return { limit: { tokens, microDollars } };
}

export function claimOptions(over: Partial<ClaimOptions> = {}): ClaimOptions {
  return { leaseMs: LEASE_MS, from: LIVE, ...over };
}

export function newStep(name: string, over: Partial<NewStep> = {}): NewStep {
  return { path: name, name, kind: "granular", phase: "work", input: "ratchets", ...over };
}

export const FINGERPRINT_DOCUMENT = { prompt: "You are careful.", input: "ratchets", model: "sample" };
export const FINGERPRINT = sha256("sample").toString("hex");

/** A run with one granular step, held by this test, with short methods for the intents of a worker. */
export class SampleRun {
  readonly store: Store;
  readonly fence: Fence;
  readonly step: StepRecord;

  constructor(store: Store, fence: Fence, step: StepRecord) {
    this.store = store;
    this.fence = fence;
    this.step = step;
  }

  static async create(store: Store, runId = "run-1", over: Partial<NewRun> = {}): Promise<SampleRun> {
    const created = await store.createRun(newRun(runId, over));
    assert.ok(created.kind === "created", `run ${runId} is new`);
    const fence = { runId, epoch: created.claim.epoch };
    return new SampleRun(store, fence, await store.beginStep(fence, newStep("draft")));
  }

  get runId(): string {
    return this.fence.runId;
  }

  get stepKey(): number {
    return this.step.stepKey;
  }

  /** The same run, claimed by another worker. The current one has released it, or its lease has expired. */
  async takenOver(store: Store = this.store, over: Partial<ClaimOptions> = {}): Promise<SampleRun> {
    const outcome = await store.claimRun(this.runId, claimOptions(over));
    assert.ok(outcome.kind === "claimed", `the run can be claimed, got ${outcome.kind}`);
    return new SampleRun(store, { runId: this.runId, epoch: outcome.claim.epoch }, this.step);
  }

  /** The same run and worker, at another step. */
  async at(name: string, over: Partial<NewStep> = {}): Promise<SampleRun> {
    return new SampleRun(this.store, this.fence, await this.store.beginStep(this.fence, newStep(name, over)));
  }

  async record(): Promise<RunRecord> {
    const run = await this.store.getRun(this.runId);
    assert.ok(run !== null);
    return run;
  }

  /** A call of this step, from the ledger. */
  async callAt(turnIndex: number, callIndex: number): Promise<ToolCallRecord> {
    const calls = await this.store.listToolCalls(this.runId);
    const call = calls.find((each) => each.toolCallId === this.callId(turnIndex, callIndex));
    assert.ok(call !== undefined, `the ledger has call ${turnIndex}.${callIndex}`);
    return call;
  }

  callId(turnIndex: number, callIndex: number): string {
    return toolCallId(this.runId, this.step.path, turnIndex, callIndex);
  }

  /** The waits of the run with their answers. */
  waits(): Promise<readonly WaitRecord[]> {
    return this.store.listWaits(this.runId);
  }

  tries(): Promise<readonly ToolCallAttempt[]> {
    return this.store.listToolCallAttempts(this.runId);
  }

  /** The last event, with only the facts of its intent: without those that every event has for `verify`. */
  async lastEvent(): Promise<EventRecord> {
    const event = (await this.store.listEvents(this.runId)).at(-1);
    assert.ok(event !== undefined);
    return { ...event, data: intentFacts(event) };
  }

  opening(turnIndex: number, over: Partial<TurnOpening> = {}): TurnOpening {
    return {
      stepKey: this.stepKey,
      turnIndex,
      reserve: RESERVE,
      fingerprint: { hash: FINGERPRINT, document: FINGERPRINT_DOCUMENT },
      ...over,
    };
  }

  /** The response of a turn, with one call for each given status. */
  journal(
    turnIndex: number,
    statuses: readonly NewToolCall["status"][] = [],
    over: Partial<TurnJournal> = {},
  ): TurnJournal {
    return {
      stepKey: this.stepKey,
      turnIndex,
      attempt: 1,
      charge: CHARGE,
      response: {
        content: [
          { type: "text", text: `Turn ${turnIndex}.` },
          ...statuses.map((_, i) => ({
            type: "tool-call",
            toolCallId: `call-${turnIndex}-${i + 1}`,
            toolName: "search",
            input: { query: `${turnIndex}.${i + 1}` },
          })),
        ],
        finishReason: statuses.length === 0 ? "stop" : "tool-calls",
        responseId: `response-${turnIndex}`,
      },
      tokens: 10,
      calls: statuses.map((status, i) => this.call(turnIndex, i + 1, { status })),
      ...over,
    };
  }

  call(turnIndex: number, callIndex: number, over: Partial<NewToolCall> = {}): NewToolCall {
    return {
      callIndex,
      namespace: "local",
      tool: "search",
      effect: "external",
      recovery: "opaque",
      identityHash: sha256("identity"),
      occurrence: 1,
      idempotencyKey: this.callKey(turnIndex, callIndex),
      status: "running",
      timeoutMs: TIMEOUT_MS,
      ...over,
    };
  }

  callKey(turnIndex: number, callIndex: number): Buffer {
    return sha256(`${this.runId}/${this.step.path}#${turnIndex}.${callIndex}`);
  }

  codeCall(n: number, over: Partial<CodeToolCall> = {}): CodeToolCall {
    const { callIndex: _, ...call } = this.call(0, n);
    return { ...call, stepKey: this.stepKey, request: { query: `code ${n}` }, ...over };
  }

  commit(turnIndex: number, over: Partial<TurnCommit> = {}): TurnCommit {
    return {
      stepKey: this.stepKey,
      turnIndex,
      journal: null,
      followUp: null,
      receipts: [],
      isComplete: false,
      messages: 1,
      tokens: 10,
      next: null,
      ...over,
    };
  }

  open(turnIndex: number, over: Partial<TurnOpening> = {}): Promise<TurnOpened> {
    return this.store.openTurn(this.fence, this.opening(turnIndex, over));
  }

  /** Opens the turn and journals a response with these calls. */
  async journaled(turnIndex: number, statuses: readonly NewToolCall["status"][] = []): Promise<void> {
    await this.open(turnIndex);
    await this.store.journalResponse(this.fence, this.journal(turnIndex, statuses));
  }

  /** A turn without tool calls, from its opening to its commit. */
  async committed(turnIndex: number, over: Partial<TurnCommit> = {}): Promise<void> {
    await this.open(turnIndex);
    const commit = this.commit(turnIndex, { journal: this.journal(turnIndex), ...over });
    await this.store.commitTurn(this.fence, commit);
  }

  /** A turn with one tool call, from its opening to its commit. */
  async committedWithCall(turnIndex: number, receipt: NewReceipt = newReceipt(1)): Promise<void> {
    await this.journaled(turnIndex, ["running"]);
    const tokens = 10 + receipt.tokens;
    await this.store.commitTurn(
      this.fence,
      this.commit(turnIndex, { receipts: [receipt], messages: 2, tokens }),
    );
  }

  receipt(turnIndex: number, callIndex: number, over: Partial<NewReceipt> = {}): Promise<void> {
    const receipt = newReceipt(callIndex, over);
    return this.store.recordReceipt(this.fence, { stepKey: this.stepKey, turnIndex, receipt });
  }

  start(turnIndex: number, ...callIndexes: readonly number[]): Promise<void> {
    const calls = callIndexes.map((callIndex) => newStart(callIndex));
    return this.store.startToolCalls(this.fence, { stepKey: this.stepKey, turnIndex, calls });
  }

  /** Starts one call that may run only if these arguments were approved. */
  startApproved(turnIndex: number, callIndex: number, approvedArguments: string | null): Promise<void> {
    const calls = [newStart(callIndex, { approvedArguments })];
    return this.store.startToolCalls(this.fence, { stepKey: this.stepKey, turnIndex, calls });
  }

  /** Ends the running attempt, by default with an unknown outcome. */
  endAttempt(turnIndex: number, callIndex: number, over: Partial<ToolCallAttemptEnd> = {}): Promise<void> {
    return this.store.endToolCallAttempt(this.fence, this.tryEnd(turnIndex, callIndex, over));
  }

  /** Stores the correlation id of an attempt. */
  correlate(turnIndex: number, callIndex: number, correlationId: string, attempt = 1): Promise<void> {
    const { stepKey } = this;
    const correlation = { stepKey, turnIndex, callIndex, attempt, correlationId };
    return this.store.correlateToolCall(this.fence, correlation);
  }

  tryEnd(turnIndex: number, callIndex: number, over: Partial<ToolCallAttemptEnd> = {}): ToolCallAttemptEnd {
    return {
      stepKey: this.stepKey,
      turnIndex,
      callIndex,
      attempt: 1,
      outcome: "timed_out",
      errorCode: "timeout",
      errorDetail: "It took too long.",
      correlationId: null,
      inDoubt: true,
      hasEnded: true,
      ...over,
    };
  }

  /** A question about a call, for a run that is released as waiting. */
  wait(turnIndex: number, callIndex: number, over: Partial<NewCallWait> = {}): NewCallWait {
    return {
      kind: "in_doubt",
      stepKey: this.stepKey,
      turnIndex,
      callIndex,
      question: "Did it happen?",
      subject: { tool: "search" },
      argumentsHash: null,
      ...over,
    };
  }

  /** Asks whether the call may run with the arguments of this hash. */
  approval(turnIndex: number, callIndex: number, argumentsHash: string): NewCallWait {
    const question = "May it run?";
    return this.wait(turnIndex, callIndex, { kind: "approval", question, argumentsHash });
  }

  /** A late receipt for an attempt, from a worker that has lost the run. */
  late(turnIndex: number, attempt: number, receipt: NewReceipt): LateReceipt {
    return { runId: this.runId, stepKey: this.stepKey, turnIndex, attempt, receipt };
  }

  /** Releases the run as waiting for a person. */
  async waiting(...waits: readonly NewWait[]): Promise<void> {
    await this.store.releaseRun(this.fence, { status: "waiting", error: null, waits });
  }
}

export function newReceipt(callIndex: number, over: Partial<NewReceipt> = {}): NewReceipt {
  const value: Json = { found: callIndex };
  return {
    callIndex,
    status: "succeeded",
    output: { type: "json", value },
    blob: null,
    tokens: 7,
    errorCode: null,
    uncertain: false,
    source: "tool",
    correlationId: null,
    duplicateOf: null,
    sessionEvents: [],
    ...over,
  };
}

export function newStart(callIndex: number, over: Partial<CallStart> = {}): CallStart {
  return { callIndex, timeoutMs: TIMEOUT_MS, approvedArguments: null, ...over };
}

/** A receipt whose result is stored as a blob. */
export function blobReceipt(callIndex: number, bytes: Uint8Array): NewReceipt {
  const reference = blobReferenceOf(bytes);
  return newReceipt(callIndex, {
    output: { type: "text", value: renderBlobReference(reference) },
    blob: { blobId: reference.blobId, bytes },
  });
}

/** The facts of an event without the digests of its rows and the amounts of the run. */
export function intentFacts({ data }: EventRecord): Json {
  if (!isJsonObject(data)) return data;
  const { rows: _, head: __, ...facts } = data;
  return facts;
}
