import { backoffMs } from "../../core/backoff.ts";
import {
  type AskReason,
  decideFailedAttempt,
  decideReconciled,
  decideToolCall,
  type ToolCallDecision,
  type ToolCallFacts,
} from "../../core/call/tool-call-decision.ts";
import { reportsNotApplied } from "../../core/control-flow.ts";
import type { NewCallWait } from "../../core/wait.ts";
import type { PreparedTool } from "../definition/prepared-tool.ts";
import { errorText, failed, type ToolOutcome, unknownOutcome } from "../definition/tool-outcome.ts";
import { type ActiveRun, type RunWith, rest } from "../run/active-run.ts";
import { asksAbout, asksAboutFailures } from "../run/escalation.ts";
import { readClock } from "../run/lease-keeper.ts";
import { Correlation } from "./call-correlation.ts";
import type { Duplicate } from "./call-duplicate.ts";
import { lookUp } from "./call-look-up.ts";
import { callId, type PreparedCall } from "./call-prepared.ts";
import { CallAttempts, type CallProgress, remainingLandingMs } from "./call-progress.ts";
import { askAbout, escalate, waitFor } from "./call-questions.ts";
import { makeReceipt } from "./call-receipt.ts";
import { type AttemptFailure, dispatchTool } from "./tool-gateway.ts";

export type CallEnd =
  | {
      readonly kind: "settled";
      readonly outcome: ToolOutcome;
      readonly attempt: number;
      /** Given for a call that was deduplicated. */
      readonly duplicate?: Duplicate;
    }
  /** A person has to decide; the call stays as it is until then. */
  | { readonly kind: "person"; readonly wait: NewCallWait };

type SettlementAction = Extract<ToolCallDecision, { kind: "execute" | "retry" | "reconcile" }>;
/** The next action, or the end of the call. */
type ActionResult = { readonly next: SettlementAction } | CallEnd;

/**
 * Brings one call to its end: dispatches it, retries it where that is safe, looks it up where that is possible, and
 * otherwise asks a person. Each attempt is recorded in the ledger before the next one. The caller stores the receipt.
 */
export async function settleCall(
  run: ActiveRun,
  call: PreparedCall,
  facts: ToolCallFacts,
  decision: SettlementAction,
  progress: CallProgress,
): Promise<CallEnd> {
  const work = new CallWork(run, call, facts, progress);
  let result: ActionResult = { next: decision };
  while ("next" in result) result = await work.perform(result.next);
  return result;
}

class CallWork {
  readonly #run: ActiveRun;
  readonly #call: PreparedCall;
  readonly #facts: ToolCallFacts;
  readonly #attempts: CallAttempts;
  /** The last failure of an attempt by this worker. */
  #lastFailure: AttemptFailure | null = null;
  /** The correlation of the last attempt, by this worker or an earlier one. */
  #correlation: Correlation;

  constructor(run: ActiveRun, call: PreparedCall, facts: ToolCallFacts, progress: CallProgress) {
    this.#run = run;
    this.#call = call;
    this.#facts = facts;
    this.#attempts = new CallAttempts(run, call, progress);
    this.#correlation = new Correlation(run, call, progress.attempt, progress.correlationId);
  }

  perform(next: SettlementAction): Promise<ActionResult> {
    if (next.kind === "reconcile") return this.#reconcile();
    // It may have waited in the queue, or before a retry, for longer than its key is valid.
    return this.#isKeyExpired
      ? Promise.resolve(this.#inDoubt("its idempotency key has expired"))
      : this.#execute();
  }

  get #isKeyExpired(): boolean {
    const { recovery } = this.#call.tool;
    return (
      recovery === "keyed" &&
      !this.#facts.isRetryRequested &&
      this.#attempts.progress.mayHaveHappened &&
      !isKeyValid(this.#run, this.#call.tool, this.#attempts.progress.sentAt)
    );
  }

  async #execute(): Promise<ActionResult> {
    await this.#attempts.begin();
    const { attempt, begunAt } = this.#attempts.progress;
    const { tool } = this.#call;
    const correlation = new Correlation(this.#run, this.#call, attempt, null);
    this.#correlation = correlation;
    const end = await dispatchTool(this.#run, this.#call, {
      attempt,
      correlation,
      deadline: begunAt + tool.timeoutMs,
      onLate: (outcome) => this.#offerLate(outcome, attempt),
    }).catch((error: unknown) => this.#rethrow(error));
    switch (end.kind) {
      case "returned":
        if (end.outcome.status === "succeeded") this.#run.calls.failures.recordSuccess(tool.name);
        return { kind: "settled", outcome: end.outcome, attempt };
      case "failed":
        return this.#afterFailure(end.failure);
      case "refused":
        await this.#attempts.end(
          { ...UNSENT_ATTEMPT, errorCode: "refused", message: end.error.message },
          "no_doubt",
        );
        throw end.error;
      case "stopped":
        await this.#attempts.end(
          { ...UNSENT_ATTEMPT, errorCode: "aborted", message: end.reason.message },
          "no_doubt",
        );
        throw end.reason;
    }
  }

  /** A tool that pauses the run and reports that nothing was applied leaves no doubt, if that can be recorded. */
  async #rethrow(error: unknown): Promise<never> {
    if (reportsNotApplied(error)) {
      const message = this.#run.policy.secrets.hideText(errorText(error));
      await this.#attempts
        .end({ ...UNSENT_ATTEMPT, errorCode: error.code, message }, "no_doubt")
        .catch(() => undefined);
    }
    throw error;
  }

  async #afterFailure(failure: AttemptFailure): Promise<ActionResult> {
    const { tool } = this.#call;
    const run = this.#run;
    this.#lastFailure = failure;
    const error = `${failure.errorCode}: ${failure.message}`;
    const isFailure = failure.outcome !== "aborted" && failure.outcome !== "needs_wait";
    const isSame = isFailure && run.calls.failures.recordFailure(tool.name, error);
    const { mayHaveHappened } = this.#attempts.progress;
    const { outcome } = failure;
    const { recovery } = tool;
    const facts = { outcome, recovery, mayHaveHappened };
    // The tool asked for a person instead of doing its work, in a run that asks none.
    if (outcome === "needs_human" && !asksAbout(run.contract.spec, failure.errorCode))
      return this.#fail(failure, { uncertain: mayHaveHappened });
    const isAsking = asksAboutFailures(run.contract.spec);
    const retriesLeft = failure.isFinal || (isSame && !isAsking) ? 0 : this.#retriesLeft;
    const decision = decideFailedAttempt({ ...facts, retriesLeft, isSameAgain: isSame && isAsking });
    if (isSame) this.#reachBudget("maxSameErrorRepeats", run.calls.failures.limit);
    const isExhausted =
      decision.kind === "fail" &&
      !failure.isFinal &&
      decideFailedAttempt({ ...facts, retriesLeft: 1, isSameAgain: false }).kind === "retry" &&
      !tool.isSessionTool;
    const exhausted = isExhausted ? this.#retriesExhausted(failure) : null;
    if (exhausted !== null) {
      await this.#attempts.end(failure, "in_doubt");
      return exhausted;
    }
    if (outcome !== "not_applied") this.#attempts.markMayHaveHappened();
    switch (decision.kind) {
      case "fail":
        return this.#fail(failure, decision);
      case "retry":
        if (this.#isKeyExpired) return this.#doubt(failure);
        await this.#attempts.end(failure, "no_doubt");
        await this.#pause(failure);
        return { next: { kind: "retry" } };
      case "doubt":
        return this.#doubt(failure);
      case "wait":
        await this.#attempts.end(failure, "in_doubt");
        return { kind: "person", wait: waitFor(run, this.#call, failure) };
      case "escalate":
        await this.#attempts.end(failure, "in_doubt");
        return { kind: "person", wait: escalate(run, this.#call, failure) };
    }
  }

  /** A question if the RunSpec limits retries and has a person asked about failures; null for an ordinary failure. */
  #retriesExhausted(failure: AttemptFailure): CallEnd | null {
    const run = this.#run;
    if (run.contract.budget.limits.maxRetriesPerToolCall === null) return null;
    if (asksAboutFailures(run.contract.spec))
      return { kind: "person", wait: escalate(run, this.#call, failure) };
    this.#reachBudget("maxRetriesPerToolCall", run.calls.maxRetries);
    return null;
  }

  /** Marks the budget as reached if no person is asked about failures: the run ends after this call. */
  #reachBudget(budget: "maxSameErrorRepeats" | "maxRetriesPerToolCall", limit: number | null): void {
    const {
      contract: { spec, budget: budgets },
    } = this.#run;
    if (spec !== null && limit !== null && !asksAboutFailures(spec)) budgets.reach(budget, limit, limit);
  }

  async #doubt(failure: AttemptFailure): Promise<ActionResult> {
    await this.#attempts.end(failure, "in_doubt");
    const { runId } = this.#run;
    this.#run.observe.emit({ type: "tool.in_doubt", runId, toolCallId: callId(this.#run, this.#call) });
    this.#run.stop.signal.throwIfAborted();
    return this.#inDoubt(failure.message);
  }

  get #retriesLeft(): number {
    // A wrong plan stays wrong until the model sees the error.
    if (this.#call.tool.isSessionTool) return 0;
    const { attempt, unsent } = this.#attempts.progress;
    return this.#run.calls.maxRetries - (attempt - 1 - unsent);
  }

  #fail(
    { errorCode, message, correlationId }: AttemptFailure,
    { uncertain }: { readonly uncertain: boolean },
  ): CallEnd {
    const outcome = failed(errorCode, message, { uncertain, source: "tool", correlationId });
    return { kind: "settled", outcome, attempt: this.#attempts.progress.attempt };
  }

  /** Decides about the call again, now that it is in doubt. */
  #inDoubt(problem: string): ActionResult {
    const decision = decideToolCall({
      ...this.#facts,
      status: "in_doubt",
      isRetryRequested: false,
      wasNotApplied: false,
      keyIsValid: isKeyValid(this.#run, this.#call.tool, this.#attempts.progress.sentAt),
    });
    switch (decision.kind) {
      case "execute":
      case "retry":
      case "reconcile":
        return { next: decision };
      case "ask":
        return this.#ask(decision.why, problem);
      case "refuse":
        return this.#unknownOutcome(problem);
      case "replay":
      case "deduplicate":
        throw new Error(`A call in doubt cannot be decided as ${decision.kind}.`);
    }
  }

  async #reconcile(): Promise<ActionResult> {
    const { tool } = this.#call;
    const run = this.#run;
    for (let lookUps = 1; ; lookUps++) {
      const { attempt } = this.#attempts.progress;
      const askedAt = readClock(run.time.clock);
      const answer = await lookUp(run, this.#call, attempt, this.#correlation);
      const toolCallId = callId(run, this.#call);
      run.observe.emit({
        type: "tool.reconciled",
        runId: run.runId,
        toolCallId,
        tool: tool.name,
        status: answer.status,
      });
      const problem = answer.status === "done" ? null : answer.problem;
      // A look-up only reads, so it can be retried.
      if (problem !== null && lookUps <= run.calls.maxRetries) {
        await rest(run, backoffMs(lookUps, run.time.random()));
        continue;
      }
      const why = problem ?? this.#lastFailure?.message ?? null;
      // Compared with the time before the look-up: the attempt may have landed while the look-up ran.
      const canStillLand = remainingLandingMs(this.#attempts.progress, askedAt, tool.landsWithinMs) > 0;
      const decision = decideReconciled({ found: answer.status, canStillLand, inDoubt: tool.inDoubt });
      switch (decision.kind) {
        case "adopt":
          if (answer.status !== "done") throw new Error("Only a call that was found can be adopted.");
          return { kind: "settled", outcome: answer.outcome, attempt };
        case "retry":
          return this.#afterAbsence();
        case "wait":
          await this.#waitUntilLanded();
          lookUps = 0;
          continue;
        case "ask":
          return this.#ask(decision.why, why);
        case "refuse":
          return this.#unknownOutcome(why);
      }
    }
  }

  /** The call did not happen: retries it, unless its retries are exhausted. */
  async #afterAbsence(): Promise<ActionResult> {
    this.#attempts.markNotHappened();
    const failure = this.#lastFailure;
    if (failure === null) return { next: { kind: "retry" } };
    if (failure.isFinal) return this.#fail(failure, { uncertain: false });
    if (this.#retriesLeft <= 0)
      return this.#retriesExhausted(failure) ?? this.#fail(failure, { uncertain: false });
    await this.#pause(failure);
    return { next: { kind: "retry" } };
  }

  /** Waits until the old attempt can no longer land: a new one must not land beside it. */
  async #waitUntilLanded(): Promise<void> {
    const {
      runId,
      time: { clock },
    } = this.#run;
    const toolCallId = callId(this.#run, this.#call);
    const { name, landsWithinMs } = this.#call.tool;
    const left = Math.max(0, remainingLandingMs(this.#attempts.progress, readClock(clock), landsWithinMs));
    this.#run.observe.emit({
      type: "tool.waiting",
      runId,
      toolCallId,
      tool: name,
      until: clock.now() + left,
    });
    await rest(this.#run, left);
  }

  #ask(why: AskReason, problem: string | null): CallEnd {
    const about = { problem, correlationId: this.#correlation.id };
    return { kind: "person", wait: askAbout(this.#run, this.#call, why, about) };
  }

  #unknownOutcome(problem: string | null): CallEnd {
    const outcome = unknownOutcome(this.#call.tool, problem);
    return { kind: "settled", outcome, attempt: this.#attempts.progress.attempt };
  }

  async #pause(failure: AttemptFailure): Promise<void> {
    const {
      runId,
      time: { random },
    } = this.#run;
    const { attempt } = this.#attempts.progress;
    const retryInMs = backoffMs(attempt, random());
    this.#run.observe.emit({
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

  /** Offers the result of a tool that ended after it was given up on. */
  async #offerLate(outcome: ToolOutcome, attempt: number): Promise<void> {
    const { runId, store } = this.#run;
    const { stepKey, turnIndex } = this.#call;
    const receipt = makeReceipt(this.#run, this.#call, outcome);
    await store.offerLateReceipt({ runId, stepKey, turnIndex, attempt, receipt }).catch(() => undefined);
  }
}

/** True while the outside system still knows the key, and so ignores a second call with it. */
export function isKeyValid(run: RunWith<"time">, tool: PreparedTool, sentAt: number | null): boolean {
  return sentAt === null || run.time.clock.now() < sentAt + tool.keyValidForMs;
}

const UNSENT_ATTEMPT = {
  outcome: "not_applied",
  correlationId: null,
  hasEnded: true,
  isFinal: false,
} as const;
