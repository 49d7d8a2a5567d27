import {
  type BudgetExceededError,
  ConfigurationError,
  ModelCallError,
  QuotaExceededError,
} from "../../core/errors.ts";
import type { Message } from "../../core/message.ts";
import { stepId } from "../../core/step-path.ts";
import { isUncharged } from "../../core/turn/model-retry.ts";
import { limitOfBudgets } from "../../core/usage/budget.ts";
import { type Amount, amountOf, chargeFor, type ModelCallEnd, usageOf } from "../../core/usage/usage.ts";
import type { Charge, EffectInProgress, ModelCallSettlement } from "../../store/store.ts";
import type { ModelRequest, ModelResponse } from "../ports/model-port.ts";
import { readResponse } from "../ports/model-response.ts";
import { NO_RUN_TELEMETRY, type SpanFacts } from "../ports/telemetry-port.ts";
import { ABORT_GRACE_MS, type RunWith, reach } from "../run/active-run.ts";
import type { ModelAttemptId } from "../run/effects-port.ts";
import type { LiveAnswer } from "../run/live-answers.ts";
import { withFiles } from "../run/message-files.ts";
import { assertMaySend, reachAfterSentMark } from "../run/sent-mark.ts";
import type { OpenModelCall } from "./loaded-conversation.ts";
import { ModelRetries, type NextAttempt } from "./model-retries.ts";
import type { TurnScope } from "./turn-scope.ts";

/** A model response with its charge, which is written with the journal. */
export type ModelAnswer = {
  readonly response: ModelResponse;
  readonly call: OpenModelCall;
  readonly charge: Charge;
};

/** A request whose files are references. */
type UnsentRequest = Omit<ModelRequest, "signal" | "idleTimeoutMs" | "messages"> & {
  readonly messages: readonly Message[];
};

/** How a request is made. */
type Asking = {
  /** Reserves for the next attempt. */
  readonly open: () => Promise<OpenModelCall>;
  /** The answer is a summary of the conversation, and no part of it: it is not shown while it is written. */
  readonly isSummary: boolean;
};

/**
 * Sends a request to the model, retries where that can help, and waits while the provider takes no requests. Each attempt
 * is reserved before it is sent and settled once after it, so nothing is reserved during a pause. The charge for the answer
 * is not written here: it is journaled with the response.
 */
export async function askModel(
  scope: TurnScope,
  turnIndex: number,
  request: UnsentRequest,
  { open, isSummary }: Asking,
): Promise<ModelAnswer> {
  const { run, path, prepared, options } = scope;
  const retries = new ModelRetries(run);
  for (;;) {
    retries.assertMayAsk();
    // Before anything is sent: a file that is gone costs nothing.
    const messages = await withFiles(run, request.messages, { mayBeMissing: options.degradedReplay });
    const call = await open();
    const isShown =
      !isSummary && prepared.agent.model.streams === true && (await run.model.live?.isWanted(run.runId));
    reach(run, "model:before-request", path, turnIndex);
    const effect = await run.store.beginEffect(run.fence, { stepKey: scope.stepKey, callIndex: 0, ...call });
    reachAfterSentMark(run, "model:noted", { stepPath: path, turnIndex }, effect);
    // If the run was cancelled during the reservation, nothing is sent, and the release refunds the reservation.
    assertMaySend(run, effect);
    const live = isShown === true ? beginLive(scope, call) : null;
    const outcome = await tracedAttempt(scope, call, request, { effect, live, messages });
    if (outcome.kind === "answered") {
      const charge = chargeOf(scope, call, { kind: "answered", usage: outcome.response.usage });
      emitCharge(scope, call, charge, isSummary);
      return { response: outcome.response, call, charge };
    }
    const charge = chargeOf(scope, call, modelCallEnd(outcome.error));
    const next = retries.after(outcome.error);
    const { isInterrupted } = outcome;
    const settlement = { stepKey: scope.stepKey, ...call, charge, outage: next.outage, isInterrupted };
    await settleModelCall(run, settlement);
    scope.conversation.openCall = null;
    emitCharge(scope, call, charge, isSummary);
    emitFailure(scope, call, next);
    run.stop.signal.throwIfAborted();
    run.stop.cuts.throwIfCut();
    if (next.inMs === null) throw next.error;
    await retries.pause(next.inMs);
  }
}

function emitFailure({ run, path: step }: TurnScope, call: OpenModelCall, next: NextAttempt): void {
  const { turnIndex: turn, attempt } = call;
  const { inMs: retryInMs, outage, error } = next;
  const { message } = error;
  run.observe.emit({
    type: "model.failed",
    runId: run.runId,
    step,
    turn,
    attempt,
    message,
    retryInMs,
    outageSince: outage?.since ?? null,
  });
}

/** Settles a call without a journal. A charge that the store refuses now is written before the run is released. */
export async function settleModelCall(
  run: RunWith<"fence" | "model" | "store">,
  settlement: ModelCallSettlement,
): Promise<void> {
  try {
    await run.store.settleModelCall(run.fence, settlement);
  } catch (error) {
    run.model.unsettledCharges.push(settlement);
    throw error;
  }
}

/** Charges for an answer even if the work fails before the answer is stored. `answered` is null if it is stored. */
export async function chargeOnFailure<T>(
  run: RunWith<"fence" | "model" | "store">,
  answered: ModelCallSettlement | null,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // The store refuses this if the answer was stored after all: an attempt is charged once.
    if (answered !== null) await settleModelCall(run, answered).catch(() => undefined);
    throw error;
  }
}

/** A request that is being sent: its effect, where its answer is shown (null if nobody watches), and its whole messages. */
type Sending = {
  readonly effect: EffectInProgress;
  readonly live: LiveAnswer | null;
  readonly messages: ModelRequest["messages"];
};

type AttemptOutcome =
  | { readonly kind: "answered"; readonly response: ModelResponse }
  | { readonly kind: "failed"; readonly error: ModelCallError; readonly isInterrupted: boolean };

function tracedAttempt(
  scope: TurnScope,
  { turnIndex: turn, attempt: number }: OpenModelCall,
  request: UnsentRequest,
  sending: Sending,
): Promise<AttemptOutcome> {
  const { run, path: step, prepared } = scope;
  const attemptId = { runId: run.runId, stepPath: step, turnIndex: turn, attempt: number };
  if (run.observe.telemetry === NO_RUN_TELEMETRY) return sendRequest(scope, request, attemptId, sending);
  const { provider, modelId: model } = prepared.agent.model;
  const { settings, instructions, messages } = request;
  const span = {
    kind: "chat",
    step,
    stepId: stepId(run.runId, step),
    turn,
    attempt: number,
    provider,
    model,
    settings,
    instructions,
    messages,
  } as const;
  return run.observe.telemetry.within(span, async (open) => {
    const outcome = await sendRequest(scope, request, attemptId, sending);
    open.record(outcome.kind === "failed" ? failureFacts(outcome.error) : responseFacts(outcome.response));
    return outcome;
  });
}

/** The facts of a failed attempt. One that failed after the provider answered has usage. */
function failureFacts({ message, details }: ModelCallError): SpanFacts {
  const usage = usageOf(details.usage ?? null, { hasContent: false });
  return { problem: message, ...(usage === null ? {} : { usage }) };
}

function responseFacts({ usage, finishReason, responseId, content }: ModelResponse): SpanFacts {
  return {
    finishReason,
    output: content,
    ...(usage === null ? {} : { usage }),
    ...(responseId === null ? {} : { responseId }),
  };
}

async function sendRequest(
  { run, prepared }: TurnScope,
  request: UnsentRequest,
  attemptId: ModelAttemptId,
  { effect, live, messages }: Sending,
): Promise<AttemptOutcome> {
  const stop = new AbortController();
  const { timeoutMs, idleTimeoutMs } = run.model;
  const unresponsive = Promise.withResolvers<never>();
  const timers: (() => void)[] = [];
  const abort = (reason: Error) => {
    stop.abort(reason);
    // A model that ignores its signal is not waited for.
    timers.push(run.time.clock.after(ABORT_GRACE_MS, () => unresponsive.reject(reason)));
  };
  const timeout = () => abort(new DOMException(`It took longer than ${timeoutMs} ms.`, "TimeoutError"));
  timers.push(run.time.clock.after(timeoutMs, timeout), run.stop.onAbort(abort), run.stop.cuts.onCut(abort));
  try {
    // An async function, so that a port that throws synchronously rejects like any other.
    const asked = (async () =>
      run.effects.ask(
        prepared.agent.model,
        { ...request, messages, signal: stop.signal, idleTimeoutMs },
        attemptId,
        live?.listener,
      ))();
    // A request that ignores its signal is in progress until it ends, even if it is no longer awaited.
    void asked.finally(() => effect.end()).catch(() => undefined);
    const response = readResponse(await Promise.race([asked, unresponsive.promise]));
    live?.answered(response);
    return { kind: "answered", response };
  } catch (error) {
    const isInterrupted = run.stop.signal.aborted || run.stop.cuts.requested !== null;
    live?.failed(isInterrupted ? "interrupted" : "failed");
    return { kind: "failed", error: asModelCallError(error, prepared.agent.model), isInterrupted };
  } finally {
    for (const cancel of timers) cancel();
  }
}

function beginLive(
  { run, path: step }: TurnScope,
  { turnIndex: turn, attempt }: OpenModelCall,
): LiveAnswer | null {
  const { runId, fence, model } = run;
  return model.live?.begin({ runId, step, turn, attempt, epoch: fence.epoch }) ?? null;
}

/** Any error but a `ModelCallError` may come from before or after the sending, so the request counts as sent. */
function asModelCallError(
  error: unknown,
  model: { readonly provider: string; readonly modelId: string },
): ModelCallError {
  if (ModelCallError.isInstance(error)) return error;
  // A configuration error, such as a missing package, is found before anything is sent.
  if (ConfigurationError.isInstance(error))
    return new ModelCallError(
      error.message,
      { kind: "not_sent", status: null, retryAfterMs: null, retryable: false },
      { cause: error },
    );
  const timedOut = error instanceof DOMException && error.name === "TimeoutError";
  const message = error instanceof Error ? error.message : String(error);
  return new ModelCallError(
    `Model ${model.provider}/${model.modelId} did not answer: ${message}`,
    { kind: timedOut ? "timeout" : "no_answer", status: null, retryAfterMs: null, retryable: false },
    { cause: error },
  );
}

function modelCallEnd(error: ModelCallError): ModelCallEnd {
  const usage = usageOf(error.details.usage ?? null, { hasContent: false });
  if (usage !== null) return { kind: "answered", usage };
  if (error.details.kind === "not_sent") return { kind: "not_sent" };
  return isUncharged(error.details) ? { kind: "rejected" } : { kind: "unanswered" };
}

function chargeOf(scope: TurnScope, call: OpenModelCall, end: ModelCallEnd): Charge {
  return chargeFor(end, call.reserved, (usage) =>
    amountOf(usage, scope.prepared.agent.model.modelId, scope.run.model.pricing),
  );
}

function emitCharge(scope: TurnScope, call: OpenModelCall, charge: Charge, isSummary: boolean): void {
  const { run, path } = scope;
  const { turnIndex: turn, attempt, reserved } = call;
  const { basis, amount: charged } = charge;
  run.observe.emit({
    type: "usage.settled",
    runId: run.runId,
    step: path,
    turn,
    attempt,
    basis,
    reserved,
    charged,
  });
  if (basis === "baseline")
    run.observe.emit({ type: "usage.baseline", runId: run.runId, step: path, turn, attempt, charged });
  if (basis === "provider" && !isSummary) watchEstimate(scope, charge.usage.inputTokens);
}

/** Compares the provider's input token count with our estimate of the same request, and warns if they differ much. */
function watchEstimate({ run, path: step, conversation, prepared }: TurnScope, counted: number): void {
  const estimated = conversation.viewTokens() + prepared.schemaTokens;
  const message = run.model.estimateWarnings.warning({
    step,
    model: prepared.agent.model,
    estimated,
    counted,
  });
  if (message !== null) run.observe.emit({ type: "warning", runId: run.runId, message });
}

/** The error for a denied reservation: about the RunSpec's budget if that set the limit, else about the caller's. */
export async function quotaError(
  { runId, store, contract: { budget, limit } }: RunWith<"runId" | "store" | "contract">,
  denied: { readonly unit: keyof Amount; readonly wanted: number; readonly remaining: number },
): Promise<QuotaExceededError | BudgetExceededError> {
  const { unit, wanted, remaining } = denied;
  const { maxTokens, maxCostUsd } = budget.limits;
  const ofSpec = limitOfBudgets(budget.limits);
  const { charged } = await store.readUsage(runId);
  if (unit === "tokens" && maxTokens !== null && limit.tokens === ofSpec.tokens)
    return budget.exceeded("maxTokens", maxTokens, charged.tokens + wanted);
  if (unit === "microDollars" && maxCostUsd !== null && limit.microDollars === ofSpec.microDollars)
    return budget.exceeded("maxCostUsd", maxCostUsd, (charged.microDollars + wanted) / 1_000_000);
  return new QuotaExceededError(
    `Run ${runId}: budget exceeded. The next model call reserves up to ${wanted} ${unit}; ${remaining} remain. Nothing was sent. Resume with a higher budget, or lower settings.maxOutputTokens.`,
    { unit, wanted, remaining },
  );
}
