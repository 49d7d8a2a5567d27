import { backoffMs } from "../../core/backoff.ts";
import {
  type AskReason,
  decideFailedAttempt,
  decideReconciled,
  decideToolCall,
  type ToolCallDecision,
  type ToolCallFacts,
} from "../../core/call/tool-call-decision.ts";
import { reportsNotApplied } from "../../core/errors.ts";
import type { NewCallWait } from "../../core/wait.ts";
import type { NewCheckpoint } from "../../store/store.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import { errorText, failed, type ToolOutcome, unknownOutcome } from "../definition/tool-outcome.ts";
import { beforeSideEffect } from "../run/checkpoint-cursor.ts";
import { assertInTime } from "../run/deadline.ts";
import { asksAbout, asksAboutFailures } from "../run/escalation.ts";
import { readClock } from "../run/lease-keeper.ts";
import { type RunHandle, reach, rest } from "../run/run-handle.ts";
import { Correlation } from "./call-correlation.ts";
import { mayLandFor } from "./call-landing.ts";
import { lookUp } from "./call-look-up.ts";
import type { CallProgress } from "./call-progress.ts";
import { askAbout, escalate } from "./call-questions.ts";
import { makeReceipt } from "./call-receipt.ts";
import { callId, dispatchTool, type FailedTry, type LedgerCall } from "./tool-gateway.ts";

export type CallEnd =
  | { readonly kind: "settled"; readonly outcome: ToolOutcome; readonly attempt: number }
  /** A person has to decide, and the call stays as it is until then. */
  | { readonly kind: "person"; readonly wait: NewCallWait };

type Next = Extract<ToolCallDecision, { kind: "execute" | "retry" | "reconcile" }>;
type Step = { readonly next: Next } | CallEnd;

/**
 * Brings one call to its end: dispatched, tried again where that is safe, looked up where it can be, put before a person
 * where nothing else is left. Every step is in the ledger before the next one; the receipt is the caller's to store.
 */
export async function settleToolCall(
  run: RunHandle,
  call: LedgerCall,
  facts: ToolCallFacts,
  decision: Next,
  progress: CallProgress,
): Promise<CallEnd> {
  const work = new CallWork(run, call, facts, progress);
  let step: Step = { next: decision };
  while ("next" in step) step = await work.take(step.next);
  return step;
}

class CallWork {
  readonly #run: RunHandle;
  readonly #call: LedgerCall;
  readonly #facts: ToolCallFacts;
  #progress: CallProgress;
  /** How the last try of this worker failed. */
  #lastFailure: FailedTry | null = null;
  /** Of the last try, made by this worker or by an earlier one. */
  #correlation: Correlation;

  constructor(run: RunHandle, call: LedgerCall, facts: ToolCallFacts, progress: CallProgress) {
    this.#run = run;
    this.#call = call;
    this.#facts = facts;
    this.#progress = progress;
    this.#correlation = new Correlation(run, call, progress.attempt, progress.correlationId);
  }

  take(next: Next): Promise<Step> {
    if (next.kind === "reconcile") return this.#reconcile();
    // It may have waited for its turn, or for its pause, longer than the other side keeps its key.
    return this.#isKeyWorn
      ? Promise.resolve(this.#inDoubt("its key is not valid any more"))
      : this.#execute();
  }

  get #isKeyWorn(): boolean {
    const { recovery } = this.#call.tool;
    return (
      recovery === "keyed" &&
      !this.#facts.isToRetry &&
      this.#progress.mayHaveHappened &&
      !isKeyValid(this.#run, this.#call.tool, this.#progress.sentAt)
    );
  }

  async #execute(): Promise<Step> {
    await this.#begin();
    const { attempt, begunAt } = this.#progress;
    const { tool } = this.#call;
    const correlation = new Correlation(this.#run, this.#call, attempt, null);
    this.#correlation = correlation;
    const end = await dispatchTool(this.#run, this.#call, {
      attempt,
      correlation,
      deadline: begunAt + tool.timeoutMs,
      onLate: (outcome) => this.#offerLate(outcome, attempt),
    }).catch((error: unknown) => this.#steered(error));
    switch (end.kind) {
      case "returned":
        if (end.outcome.status === "succeeded") this.#run.failures.hasWorked(tool.name);
        return { kind: "settled", outcome: end.outcome, attempt };
      case "failed":
        return this.#afterFailure(end.failure);
      case "refused":
        await this.#endTry({ ...NOT_SENT, errorCode: "refused", message: end.error.message }, false);
        throw end.error;
      case "stopped":
        await this.#endTry({ ...NOT_SENT, errorCode: "aborted", message: end.reason.message }, false);
        throw end.reason;
    }
  }

  /** A tool that pauses the run and says that it did nothing leaves no doubt; where that cannot be written, it does. */
  async #steered(error: unknown): Promise<never> {
    if (reportsNotApplied(error)) {
      const message = this.#run.secrets.hideText(errorText(error));
      await this.#endTry({ ...NOT_SENT, errorCode: error.code, message }, false).catch(() => undefined);
    }
    throw error;
  }

  /** The ledger says `running` before anything goes out. */
  async #begin(): Promise<void> {
    if (this.#progress.isBegun) {
      this.#progress = { ...this.#progress, isBegun: false };
      return;
    }
    const { stepKey, stepPath, turnIndex, callIndex, tool, approvedArguments } = this.#call;
    // Where there is none it is begun in this very tick, and so in one commit with the receipt of the call before it.
    const hasCheckpoint = this.#progress.attempt === 0 && this.#run.phases.length > 0;
    const checkpoint = hasCheckpoint ? await this.#checkpoint() : null;
    this.#run.signal.throwIfAborted();
    assertInTime(this.#run);
    const begunAt = this.#run.clock.monotonic();
    reach(this.#run, "tool:before-start", stepPath, turnIndex);
    await this.#run.store.startToolCalls(this.#run.fence, {
      stepKey,
      turnIndex,
      calls: [{ callIndex, timeoutMs: tool.timeoutMs, approvedArguments }],
      ...(checkpoint === null ? {} : { checkpoint }),
    });
    reach(this.#run, "tool:started", stepPath, turnIndex);
    const now = this.#run.clock.now();
    const { attempt, sentAt, unsent, mayHaveHappened } = this.#progress;
    this.#progress = {
      isBegun: false,
      attempt: attempt + 1,
      sentAt: sentAt ?? now,
      unsent,
      mayHaveHappened,
      endedBy: null,
      ownEndsBy: this.#run.clock.monotonic() + tool.timeoutMs,
      begunAt,
      correlationId: null,
    };
  }

  /** Of a call that waited for its turn, or for a person: one, before its first try. */
  async #checkpoint(): Promise<NewCheckpoint | null> {
    const { stepPath, turnIndex, tool } = this.#call;
    const step = await this.#run.store.findStep(this.#run.runId, stepPath);
    return step === null ? null : beforeSideEffect(this.#run, step, turnIndex, [tool.effect]);
  }

  async #afterFailure(failure: FailedTry): Promise<Step> {
    const { tool } = this.#call;
    const run = this.#run;
    this.#lastFailure = failure;
    const error = `${failure.errorCode}: ${failure.message}`;
    const same = failure.outcome !== "aborted" && run.failures.isSameAgain(tool.name, error);
    const { mayHaveHappened } = this.#progress;
    const { outcome } = failure;
    const { recovery } = tool;
    const decide = (retriesLeft: number, isSameAgain: boolean) =>
      decideFailedAttempt({ outcome, recovery, retriesLeft, isSameAgain, mayHaveHappened });
    // A tool that asked for a person where its run asks none did so in place of its work.
    if (outcome === "needs_human" && !asksAbout(run.spec, failure.errorCode))
      return this.#fail(failure, mayHaveHappened);
    const isAsking = asksAboutFailures(run.spec);
    const retriesLeft = failure.isFinal || (same && !isAsking) ? 0 : this.#retriesLeft;
    const decision = decide(retriesLeft, same && isAsking);
    if (same) this.#reach("maxSameErrorRepeats", run.failures.limit);
    const isWornOut =
      decision.kind === "fail" && !failure.isFinal && decide(1, false).kind === "retry" && !tool.isOfSession;
    const wornOut = isWornOut ? this.#wornOut(failure) : null;
    if (wornOut !== null) {
      await this.#endTry(failure, true);
      return wornOut;
    }
    if (outcome !== "not_applied") this.#progress = { ...this.#progress, mayHaveHappened: true };
    switch (decision.kind) {
      case "fail":
        return this.#fail(failure, decision.uncertain);
      case "retry":
        if (this.#isKeyWorn) return this.#doubt(failure);
        await this.#endTry(failure, false);
        await this.#pause(failure);
        return { next: { kind: "retry" } };
      case "doubt":
        return this.#doubt(failure);
      case "escalate":
        await this.#endTry(failure, true);
        return { kind: "person", wait: escalate(run, this.#call, failure) };
    }
  }

  /** No retry is left. Where the contract counts them, that is a question, or the end of the run; else null. */
  #wornOut(failure: FailedTry): CallEnd | null {
    const run = this.#run;
    if (run.budget.limits.maxRetriesPerToolCall === null) return null;
    if (asksAboutFailures(run.spec)) return { kind: "person", wait: escalate(run, this.#call, failure) };
    this.#reach("maxRetriesPerToolCall", run.maxRetriesPerToolCall);
    return null;
  }

  /** Where nobody is asked about failures, their budget ends the run: after this call has come to its end. */
  #reach(budget: "maxSameErrorRepeats" | "maxRetriesPerToolCall", limit: number | null): void {
    const { spec, budget: budgets } = this.#run;
    if (spec !== null && limit !== null && !asksAboutFailures(spec)) budgets.reach(budget, limit, limit);
  }

  async #doubt(failure: FailedTry): Promise<Step> {
    await this.#endTry(failure, true);
    const { runId } = this.#run;
    this.#run.emit({ type: "tool.in_doubt", runId, toolCallId: callId(this.#run, this.#call) });
    this.#run.signal.throwIfAborted();
    return this.#inDoubt(failure.message);
  }

  get #retriesLeft(): number {
    // What is wrong with the plan stays so until the model has heard of it.
    if (this.#call.tool.isOfSession) return 0;
    const { attempt, unsent } = this.#progress;
    return this.#run.maxRetriesPerToolCall - (attempt - 1 - unsent);
  }

  #fail({ errorCode, message, correlationId }: FailedTry, uncertain: boolean): CallEnd {
    const outcome = failed(errorCode, message, uncertain, { source: "tool", correlationId });
    return { kind: "settled", outcome, attempt: this.#progress.attempt };
  }

  /** What becomes of it now that nobody knows whether it happened. */
  #inDoubt(problem: string): Step {
    const decision = decideToolCall({
      ...this.#facts,
      status: "in_doubt",
      isToRetry: false,
      wasNotApplied: false,
      keyIsValid: isKeyValid(this.#run, this.#call.tool, this.#progress.sentAt),
    });
    switch (decision.kind) {
      case "execute":
      case "retry":
      case "reconcile":
        return { next: decision };
      case "ask":
        return this.#ask(decision.why, problem);
      case "refuse":
        return this.#tellUnknown(problem);
      case "replay":
      case "deduplicate":
        throw new Error(`A call in doubt cannot be decided as ${decision.kind}.`);
    }
  }

  async #reconcile(): Promise<Step> {
    const { tool } = this.#call;
    const run = this.#run;
    for (let tries = 1; ; tries++) {
      const { attempt } = this.#progress;
      const asked = readClock(run.clock);
      const answer = await lookUp(run, this.#call, attempt, this.#correlation);
      const toolCallId = callId(run, this.#call);
      run.emit({
        type: "tool.reconciled",
        runId: run.runId,
        toolCallId,
        tool: tool.name,
        status: answer.status,
      });
      const problem = answer.status === "done" ? null : answer.problem;
      // A look-up that failed is a read that can be made again.
      if (problem !== null && tries <= run.maxRetriesPerToolCall) {
        await rest(run, backoffMs(tries, run.random()));
        continue;
      }
      const why = problem ?? this.#lastFailure?.message ?? null;
      // What was absent when it was asked for may have landed before the answer came.
      const canStillLand = mayLandFor(this.#progress, asked, tool.landsWithinMs) > 0;
      const decision = decideReconciled({ found: answer.status, canStillLand, inDoubt: tool.inDoubt });
      switch (decision.kind) {
        case "adopt":
          if (answer.status !== "done") throw new Error("Only what was found is adopted.");
          return { kind: "settled", outcome: answer.outcome, attempt };
        case "retry":
          return this.#afterAbsence();
        case "wait":
          await this.#waitUntilLanded();
          tries = 0;
          continue;
        case "ask":
          return this.#ask(decision.why, why);
        case "refuse":
          return this.#tellUnknown(why);
      }
    }
  }

  /** It did not happen. What fails here again and again without happening ends like any other. */
  async #afterAbsence(): Promise<Step> {
    this.#progress = { ...this.#progress, mayHaveHappened: false };
    const failure = this.#lastFailure;
    if (failure === null) return { next: { kind: "retry" } };
    if (failure.isFinal) return this.#fail(failure, false);
    if (this.#retriesLeft <= 0) return this.#wornOut(failure) ?? this.#fail(failure, false);
    await this.#pause(failure);
    return { next: { kind: "retry" } };
  }

  /** It is not there so far. The old attempt may still land, and this one must not land beside it. */
  async #waitUntilLanded(): Promise<void> {
    const { clock, runId } = this.#run;
    const toolCallId = callId(this.#run, this.#call);
    const { name, landsWithinMs } = this.#call.tool;
    const left = Math.max(0, mayLandFor(this.#progress, readClock(clock), landsWithinMs));
    this.#run.emit({ type: "tool.waiting", runId, toolCallId, tool: name, until: clock.now() + left });
    await rest(this.#run, left);
  }

  #ask(why: AskReason, problem: string | null): CallEnd {
    const about = { problem, correlationId: this.#correlation.id };
    return { kind: "person", wait: askAbout(this.#run, this.#call, why, about) };
  }

  #tellUnknown(problem: string | null): CallEnd {
    const outcome = unknownOutcome(this.#call.tool, problem);
    return { kind: "settled", outcome, attempt: this.#progress.attempt };
  }

  async #endTry(failure: FailedTry, inDoubt: boolean): Promise<void> {
    const { stepKey, stepPath, turnIndex, callIndex } = this.#call;
    const { outcome, errorCode, message, correlationId, hasEnded } = failure;
    const { attempt } = this.#progress;
    reach(this.#run, "tool:before-try-end", stepPath, turnIndex);
    await this.#run.store.endToolCallAttempt(this.#run.fence, {
      stepKey,
      turnIndex,
      callIndex,
      attempt,
      outcome,
      errorCode,
      errorDetail: message,
      correlationId,
      inDoubt,
      hasEnded,
    });
    reach(this.#run, "tool:try-ended", stepPath, turnIndex);
    if (hasEnded) this.#progress = { ...this.#progress, ownEndsBy: this.#run.clock.monotonic() };
  }

  async #pause(failure: FailedTry): Promise<void> {
    const { runId, random } = this.#run;
    const { attempt } = this.#progress;
    const retryInMs = backoffMs(attempt, random());
    this.#run.emit({
      type: "tool.retrying",
      runId,
      toolCallId: callId(this.#run, this.#call),
      tool: this.#call.tool.name,
      attempt,
      message: failure.message,
      retryInMs,
    });
    await rest(this.#run, retryInMs);
  }

  /** A tool that was given up on has come to its end after all. Nobody waits for this any more. */
  async #offerLate(outcome: ToolOutcome, attempt: number): Promise<void> {
    const { runId, store } = this.#run;
    const { stepKey, turnIndex } = this.#call;
    const receipt = makeReceipt(this.#run, this.#call, outcome);
    await store.offerLateReceipt({ runId, stepKey, turnIndex, attempt, receipt }).catch(() => undefined);
  }
}

/** Whether the other side still knows the key, so that it drops a second call. */
export function isKeyValid(run: RunHandle, tool: PreparedTool, sentAt: number | null): boolean {
  return sentAt === null || run.clock.now() < sentAt + tool.keyValidForMs;
}

const NOT_SENT = {
  outcome: "not_applied",
  correlationId: null,
  hasEnded: true,
  isFinal: false,
} as const;
