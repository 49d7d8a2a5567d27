import type { ReceiptStatus } from "../../core/call/tool-call-decision.ts";
import type { ToolCallPart, ToolOutput } from "../../core/message.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { NewWait } from "../../core/wait.ts";
import type { Receipt } from "../../store/store.ts";
import { decideCall } from "../call/call-decision.ts";
import { asEarlierCall, type EarlierCall } from "../call/call-earlier-result.ts";
import { callId } from "../call/call-prepared.ts";
import { personNeeded } from "../call/call-questions.ts";
import { emitDuplicate, makeReceipt, type PendingReceipt, storeReceipt } from "../call/call-receipt.ts";
import { type CallEnd, settleCall } from "../call/call-settlement.ts";
import type { ToolOutcome } from "../definition/tool-outcome.ts";
import type { TurnCall } from "./turn-call.ts";
import type { TurnCalls } from "./turn-call-plan.ts";
import type { TurnScope } from "./turn-scope.ts";

/** The whole result of a call, however large. The excerpt that the model sees is made from it. */
export type TurnCallResult = {
  readonly toolCallId: string;
  readonly part: ToolCallPart;
  readonly status: ReceiptStatus;
  readonly events: readonly SessionEvent[];
  readonly output: ToolOutput;
  readonly errorCode: string | null;
  readonly tokens: number;
};

/**
 * Runs the calls that have no receipt, in parallel. Each receipt is stored as soon as its tool returns, except the last:
 * it is returned in `unstored`, and written in the turn's commit.
 */
export function runTurnCalls(
  scope: TurnScope,
  turnIndex: number,
  calls: TurnCalls,
): Promise<{ readonly results: readonly TurnCallResult[]; readonly unstored: readonly PendingReceipt[] }> {
  return new TurnCallRun(scope, turnIndex, calls).run();
}

/**
 * Stores the receipts of a turn that fails for another reason, so that calls with a known outcome are not left in doubt.
 * Never throws: the caller rethrows the error that failed the turn.
 */
export async function tryStoreReceipts(
  { run }: TurnScope,
  receipts: readonly PendingReceipt[],
): Promise<void> {
  await Promise.allSettled(receipts.map((pending) => storeReceipt(run, pending)));
}

class TurnCallRun {
  readonly #scope: TurnScope;
  readonly #turnIndex: number;
  readonly #calls: TurnCalls;
  readonly #results = new Map<number, TurnCallResult>();
  readonly #unstored = new Map<number, PendingReceipt>();
  readonly #ends = new Map<number, CallEnd>();
  readonly #waits: NewWait[] = [];
  #isStopped = false;

  constructor(scope: TurnScope, turnIndex: number, calls: TurnCalls) {
    this.#scope = scope;
    this.#turnIndex = turnIndex;
    this.#calls = calls;
  }

  async run(): ReturnType<typeof runTurnCalls> {
    const { items, first, queue } = this.#calls;
    for (const item of items) this.#takeKnown(item);
    try {
      await allOf(first.map((item) => this.#work(item)));
      if (!queue.isDone) this.#assertMayContinue();
    } catch (error) {
      await tryStoreReceipts(this.#scope, [...this.#unstored.values()]);
      throw error;
    }
    const unstored = [...this.#unstored.values()];
    if (this.#waits.length === 0) return { results: items.map((item) => this.#resultOf(item)), unstored };
    await allOf(unstored.map((pending) => storeReceipt(this.#scope.run, pending)));
    throw personNeeded(this.#scope.run, this.#waits);
  }

  #takeKnown(item: TurnCall): void {
    const { plan } = item;
    switch (plan.kind) {
      case "misconfigured":
        throw plan.error;
      case "replay":
        return this.#take(item, plan.receipt, plan.receipt.tokens);
      case "settled":
      case "person":
        return this.#end(item, plan);
      case "work":
      case "pending":
      case "held":
        return;
    }
  }

  async #work(item: TurnCall): Promise<void> {
    const { queue } = this.#calls;
    const { run } = this.#scope;
    try {
      const end = await this.#settle(item);
      queue.end(item.callIndex);
      if (end !== null) this.#end(item, end);
    } catch (error) {
      this.#isStopped = true;
      throw error;
    }
    const isOver =
      this.#isStopped ||
      run.stop.signal.aborted ||
      run.stop.closing.aborted ||
      run.stop.cuts.requested === "stop" ||
      run.contract.budget.reached !== null;
    const next = isOver ? [] : queue.take();
    if (queue.isDone) return;
    // Submitted together and stored in this order: a store may make them one commit.
    await allOf([this.#store(item.callIndex), ...next.map((each) => this.#work(each))]);
  }

  /** Throws if the run has to stop. The remaining calls wait as `prepared` for the worker that resumes the turn. */
  #assertMayContinue(): void {
    const { stop, contract } = this.#scope.run;
    stop.signal.throwIfAborted();
    stop.closing.throwIfAborted();
    stop.cuts.throwIfStopped();
    if (contract.budget.reached !== null) throw contract.budget.reached;
  }

  /** Null if the call is held until a person has decided about the call before it. */
  async #settle(item: TurnCall): Promise<CallEnd | null> {
    const { run } = this.#scope;
    const plan = this.#planOf(item);
    switch (plan.kind) {
      case "work":
        return settleCall(run, plan.call, plan.facts, plan.decision, plan.progress);
      case "settled":
      case "person":
        return plan;
      case "held":
        return null;
      case "replay":
      case "pending":
      case "misconfigured":
        throw new Error(`Call ${item.callIndex} has no work to do.`);
    }
  }

  /** Decides again about a call that follows another, or before which an equal call failed; else the plan stands. */
  #planOf(item: TurnCall): TurnCall["plan"] {
    if (item.follows === null) return this.#planAfterEqualFailure(item) ?? item.plan;
    const before = this.#ends.get(item.follows);
    if (before?.kind !== "settled") return { kind: "held" };
    const earlier = this.#asEarlier(item.follows, before);
    const undecided = earlier.kind === "none" ? item.undecided : { ...item.undecided, earlier };
    return decideCall(this.#scope.run, undecided);
  }

  /** A new plan if an equal call of this turn failed, and may have happened anyway, before this one began; else null. */
  #planAfterEqualFailure({ plan, undecided }: TurnCall): TurnCall["plan"] | null {
    if (plan.kind !== "work" || plan.progress.isBegun || plan.decision.kind !== "execute") return null;
    for (const { undecided: other, callIndex } of this.#calls.items) {
      const end = this.#ends.get(callIndex);
      if (other.identityHash !== undecided.identityHash || end?.kind !== "settled" || !end.outcome.uncertain)
        continue;
      const earlier = this.#asEarlier(callIndex, end);
      return decideCall(this.#scope.run, { ...undecided, earlier });
    }
    return null;
  }

  /** A call of this turn that has ended, as an earlier call for the next one of its identity. */
  #asEarlier(callIndex: number, { outcome, duplicate }: SettledEnd): EarlierCall {
    const own = this.#calls.items.find((item) => item.callIndex === callIndex);
    const request = duplicate?.firstRequest ?? own?.undecided.comparable ?? null;
    return asEarlierCall(this.#idOf(callIndex), outcome, request);
  }

  #end(item: TurnCall, end: CallEnd): void {
    const { run, stepKey, path: stepPath, prepared } = this.#scope;
    const { callIndex, part, undecided } = item;
    this.#ends.set(callIndex, end);
    if (end.kind === "person") {
      this.#waits.push(end.wait);
      return;
    }
    const { outcome, attempt } = end;
    const { blobThresholdBytes } = undecided;
    const receipt = makeReceipt(run, { callIndex, blobThresholdBytes }, outcome, prepared.estimate);
    this.#take(item, outcome, receipt.tokens);
    this.#unstored.set(callIndex, { stepKey, stepPath, turnIndex: this.#turnIndex, attempt, receipt });
    emitDuplicate(run, { stepPath, turnIndex: this.#turnIndex, callIndex }, part.toolName, end);
  }

  #take(
    { callIndex, part }: TurnCall,
    { status, output, errorCode, duplicateOf, sessionEvents: events }: ToolOutcome | Receipt,
    tokens: number,
  ): void {
    const toolCallId = this.#idOf(callIndex);
    this.#results.set(callIndex, { toolCallId, part, status, events, output, errorCode, tokens });
    this.#calls.events.record(callIndex, duplicateOf ?? toolCallId, events);
    this.#scope.run.keeper.lastToolCall = toolCallId;
  }

  async #store(callIndex: number): Promise<void> {
    const pending = this.#unstored.get(callIndex);
    if (pending === undefined) return;
    try {
      await storeReceipt(this.#scope.run, pending);
      this.#unstored.delete(callIndex);
    } catch (error) {
      this.#isStopped = true;
      throw error;
    }
  }

  #idOf(callIndex: number): string {
    return callId(this.#scope.run, { stepPath: this.#scope.path, turnIndex: this.#turnIndex, callIndex });
  }

  #resultOf({ callIndex }: TurnCall): TurnCallResult {
    const result = this.#results.get(callIndex);
    if (result === undefined) throw new Error(`Call ${callIndex} has no result.`);
    return result;
  }
}

type SettledEnd = Extract<CallEnd, { readonly kind: "settled" }>;

/** Rejects only after all have ended: a call in progress has its effect, and must leave its receipt. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(work);
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
