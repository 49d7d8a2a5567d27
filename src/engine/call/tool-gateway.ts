import { matchesAction } from "../../core/call/action-pattern.ts";
import type { FailedAttemptOutcome, ReceiptStatus } from "../../core/call/tool-call-decision.ts";
import { isControlFlow } from "../../core/control-flow.ts";
import {
  ConfigurationError,
  FinalFailure,
  LeaseLostError,
  NeedsHuman,
  NeedsWait,
  NotApplied,
  PersonNeededError,
} from "../../core/errors.ts";
import { stepId } from "../../core/step-path.ts";
import { turnKey } from "../../core/turn/turn-key.ts";
import type { NeededWait, WaitClock } from "../../core/wait.ts";
import type { DraftSession } from "../../session/draft-session.ts";
import type { EffectInProgress } from "../../store/store.ts";
import { keyProblem, type PreparedTool } from "../definition/prepared-tool.ts";
import type { ToolCallContext } from "../definition/tool.ts";
import { errorText, type Presentation, succeeded, type ToolOutcome } from "../definition/tool-outcome.ts";
import type { OpenSpan, SpanFacts, SpanStart } from "../ports/telemetry-port.ts";
import { type RunWith, reach } from "../run/active-run.ts";
import { runDeadlineError } from "../run/deadline.ts";
import { assertMaySend, reachAfterSentMark, writeSentMark } from "../run/sent-mark.ts";
import { BoundedAttempt } from "./call-attempt.ts";
import type { Correlation } from "./call-correlation.ts";
import { argumentsHash, callId, freshInput, type PreparedCall } from "./call-prepared.ts";

/** An attempt that brought no receipt. */
export type AttemptFailure = {
  readonly outcome: Exclude<FailedAttemptOutcome, "lost">;
  readonly errorCode: string;
  readonly message: string;
  readonly correlationId: string | null;
  /** False if the tool was given up on and may still be running. */
  readonly hasEnded: boolean;
  /** True if another attempt would fail in the same way. */
  readonly isFinal: boolean;
  /** What the tool waits for. */
  readonly wait?: NeededWait;
  /** The time limit of a tool that asks a person. */
  readonly clock?: WaitClock;
};

export type AttemptResult =
  | { readonly kind: "returned"; readonly outcome: ToolOutcome }
  | { readonly kind: "failed"; readonly failure: AttemptFailure }
  /** Not sent, and must not be: the payload is not the planned or approved one, or a rule forbids it. */
  | { readonly kind: "refused"; readonly error: ConfigurationError }
  /** Not sent: the run was cancelled or lost, its store is closing, or its deadline has passed. */
  | { readonly kind: "stopped"; readonly reason: Error };

/** One attempt of a call that is `running` in the ledger. */
export type CallAttempt = {
  readonly attempt: number;
  /** Monotonic time at which it is given up on. The limit counts from before `running` was written to the ledger. */
  readonly deadline: number;
  /** The outside system's id of it. */
  readonly correlation: Correlation;
  /** Gets the outcome of a tool that ended after it was given up on. */
  readonly onLate: (outcome: ToolOutcome) => Promise<void>;
};

/** What running a tool's code needs of a run: for a call, and for a look-up. */
export type ToolRun = RunWith<
  "runId" | "facts" | "fence" | "time" | "stop" | "policy" | "observe" | "keeper" | "artifacts" | "effects"
>;

/**
 * The only code that invokes a tool. It checks the lease, the key, the approval and the constraints right before, and
 * turns whatever the tool returns or throws into a value that can be stored. Only errors that pause or end the run are rethrown.
 */
export async function dispatchTool(
  run: ToolRun & RunWith<"store" | "contract">,
  call: PreparedCall,
  dispatch: CallAttempt,
): Promise<AttemptResult> {
  const { tool, request, stepPath, turnIndex } = call;
  const id = callId(run, call);
  const { attempt } = dispatch;
  run.observe.emit({
    type: "tool.started",
    runId: run.runId,
    toolCallId: id,
    tool: tool.name,
    attempt,
    input: request,
  });
  const refusal = dispatchProblem(run, call);
  if (refusal !== null) return { kind: "refused", error: new ConfigurationError(refusal) };
  reach(run, "tool:before-execute", stepPath, turnIndex);
  if (run.stop.signal.aborted) return { kind: "stopped", reason: run.stop.signal.reason as Error };
  const late = runDeadlineError(run);
  if (late !== null) return { kind: "stopped", reason: late };
  if (run.stop.closing.aborted) return { kind: "stopped", reason: run.stop.closing.reason as Error };
  const { stepKey, callIndex } = call;
  const effect = await writeSentMark(run, { stepKey, turnIndex, callIndex, attempt });
  if (effect instanceof Error) return { kind: "stopped", reason: effect };
  reachAfterSentMark(run, "tool:noted", call, effect);
  const end = await run.observe.telemetry.within(spanOf(run, call, attempt), async (span) => {
    const result = await execute(run, call, { ...dispatch, effect }, span.headers);
    span.record(spanFacts(result));
    return result;
  });
  reach(run, "tool:executed", stepPath, turnIndex);
  const status = statusOf(end);
  run.observe.emit({
    type: "tool.finished",
    runId: run.runId,
    toolCallId: id,
    tool: tool.name,
    attempt,
    status,
  });
  return end;
}

type SentResult = Extract<AttemptResult, { kind: "returned" | "failed" }>;

function statusOf(end: SentResult): ReceiptStatus | FailedAttemptOutcome {
  return end.kind === "returned" ? end.outcome.status : end.failure.outcome;
}

function spanOf(run: RunWith<"runId">, call: PreparedCall, attempt: number): SpanStart {
  const { name, namespace, description, effect } = call.tool;
  return {
    kind: "tool",
    step: call.stepPath,
    stepId: stepId(run.runId, call.stepPath),
    turn: call.turnIndex,
    toolCallId: callId(run, call),
    attempt,
    tool: name,
    namespace,
    description,
    effect,
    idempotencyKey: call.idempotencyKey,
    input: call.request,
  };
}

function spanFacts(end: SentResult): SpanFacts {
  const status = statusOf(end);
  if (end.kind === "failed") return { status, problem: end.failure.message };
  const { output, errorCode } = end.outcome;
  return { status, output: output.value, ...(errorCode === null ? {} : { problem: errorCode }) };
}

/** Checks the payload again: it may have changed since the call was planned. */
function dispatchProblem(run: RunWith<"runId" | "policy">, call: PreparedCall): string | null {
  const { tool, input, request, idempotencyKey, enforceKeys, approval, approvedArguments } = call;
  const forbidden = matchesAction(run.policy.rules.forbiddenActions, tool);
  if (forbidden !== null) return `Tool ${tool.name} is forbidden (${forbidden}): nothing was sent.`;
  const key = keyProblem(tool, input, { key: idempotencyKey, enforceKeys });
  if (key !== null) return key;
  const current = approval === null ? null : argumentsHash(run, tool, input, request, approval);
  if (current === approvedArguments) return null;
  return `The arguments of ${callId(run, call)} changed after they were approved: nothing was sent.`;
}

async function execute(
  run: ToolRun,
  call: PreparedCall,
  dispatch: CallAttempt & { readonly effect: EffectInProgress },
  traceHeaders: OpenSpan["headers"],
): Promise<SentResult> {
  const { tool, input } = call;
  const { correlation, effect } = dispatch;
  const limit = dispatch.deadline - run.time.clock.monotonic();
  if (limit <= 0) effect.withdraw();
  if (limit <= 0)
    return failedAttempt(correlation, {
      outcome: "not_applied",
      errorCode: "timeout",
      message: "It was not dispatched in time.",
    });
  const attempt = new BoundedAttempt(run, limit);
  const session = run.keeper.draft(call.sessionBase);
  const { signal } = attempt;
  const about = { attempt: dispatch.attempt, signal, correlation, session, traceHeaders };
  const context = callContext(run, call, about);
  const end = await attempt.run(() => {
    assertMaySend(run, effect);
    return run.effects.execute(tool, freshInput(input), context);
  });
  if (end.kind !== "given_up") effect.end();
  switch (end.kind) {
    case "returned":
      return { kind: "returned", outcome: await outcomeOf(run, call, end.value, correlation, session) };
    case "threw":
      session.end();
      return failureOf(run, call, end.error, attempt.signal, correlation);
    case "given_up":
      void end.late
        .then(async (value) => dispatch.onLate(await outcomeOf(run, call, value, correlation, session)))
        .catch(() => undefined)
        .finally(() => effect.end());
      return failedAttempt(correlation, {
        outcome: "timed_out",
        errorCode: "timeout",
        message: tookTooLong(tool),
        hasEnded: false,
      });
  }
}

/** The outcome of a tool that returned, with the session events that it recorded. */
export async function outcomeOf(
  run: RunWith<"runId" | "policy">,
  call: PreparedCall,
  value: unknown,
  { id }: Correlation,
  session: DraftSession,
): Promise<ToolOutcome> {
  session.end();
  const secrets = run.policy.secrets.withTexts(call.ownSecrets);
  const outcome = await succeeded(secrets, call.tool, value, id, presentationOf(run, call));
  if (session.events.length === 0 || outcome.status !== "succeeded") return outcome;
  return { ...outcome, sessionEvents: secrets.hide(session.events) };
}

/** The presentation of a result to a model; null for calls from code (turn 0), which get the result itself. */
function presentationOf(run: RunWith<"runId">, call: PreparedCall): Presentation {
  const { present } = call.tool;
  if (present === null || call.turnIndex === 0) return null;
  return (result) => present({ toolCallId: callId(run, call), input: call.input, result });
}

function failureOf(
  run: RunWith<"runId" | "fence" | "policy" | "stop">,
  { ownSecrets }: PreparedCall,
  error: unknown,
  signal: AbortSignal,
  correlation: Correlation,
): { readonly kind: "failed"; readonly failure: AttemptFailure } {
  if (isHostile(error))
    return failedAttempt(correlation, {
      outcome: "failed",
      errorCode: "tool_error",
      message: "It threw something that cannot be read.",
    });
  if (isRunControlError(run, error)) throw error;
  const secrets = run.policy.secrets.withTexts(ownSecrets);
  const message = secrets.hideText(errorText(error));
  if (NotApplied.isInstance(error))
    return failedAttempt(correlation, { outcome: "not_applied", errorCode: "not_applied", message });
  if (FinalFailure.isInstance(error)) {
    const outcome = error.details.applied === false ? "not_applied" : "failed";
    return failedAttempt(correlation, { outcome, errorCode: "tool_error", message, isFinal: true });
  }
  if (NeedsWait.isInstance(error)) {
    const { wait } = error;
    return failedAttempt(correlation, { outcome: "needs_wait", errorCode: wait.kind, message, wait });
  }
  if (NeedsHuman.isInstance(error)) {
    const errorCode = secrets.hideText(reasonOf(error));
    const { clock } = error;
    return failedAttempt(correlation, {
      outcome: "needs_human",
      errorCode,
      message,
      ...(clock === undefined ? {} : { clock }),
    });
  }
  // An aborted tool may have done its work.
  if (run.stop.signal.aborted)
    return failedAttempt(correlation, { outcome: "aborted", errorCode: "aborted", message });
  if (signal.aborted)
    return failedAttempt(correlation, { outcome: "timed_out", errorCode: "timeout", message });
  return failedAttempt(correlation, { outcome: "failed", errorCode: "tool_error", message });
}

/** True for a thrown value that itself throws when it is read, such as a revoked proxy. */
function isHostile(error: unknown): boolean {
  try {
    if (error instanceof Error) void error.message;
    return false;
  } catch {
    return true;
  }
}

/** The reason of a NeedsHuman error, also from a tool that was written without types. */
function reasonOf(error: { readonly details?: { readonly reason?: unknown } }): string {
  const reason = error.details?.reason;
  return typeof reason === "string" && reason !== "" ? reason.toWellFormed() : "needs_human";
}

/** True for errors that pause or end the run. A lost lease must be of this run: a tool may execute other runs. */
export function isRunControlError(run: RunWith<"fence" | "runId">, error: unknown): boolean {
  if (LeaseLostError.isInstance(error))
    return error.details.runId === run.runId && error.details.epoch === run.fence.epoch;
  return isControlFlow(error) && !PersonNeededError.isInstance(error);
}

/** By default the tool has ended, and another attempt may succeed. */
function failedAttempt(
  { id }: Correlation,
  failure: Pick<AttemptFailure, "outcome" | "errorCode" | "message"> & Partial<AttemptFailure>,
): { readonly kind: "failed"; readonly failure: AttemptFailure } {
  return { kind: "failed", failure: { correlationId: id, hasEnded: true, isFinal: false, ...failure } };
}

export function tookTooLong({ name, timeoutMs }: PreparedTool): string {
  return `${name} did not end within ${timeoutMs} ms and was given up on.`;
}

type AttemptContext = Pick<ToolCallContext, "attempt" | "signal" | "traceHeaders"> & {
  readonly correlation: Correlation;
  readonly session: DraftSession;
};

export function callContext(
  run: RunWith<"runId" | "facts" | "fence" | "policy" | "artifacts">,
  call: PreparedCall,
  { attempt, signal, correlation, session, traceHeaders }: AttemptContext,
): ToolCallContext {
  return {
    runId: run.runId,
    run: run.facts,
    stepId: stepId(run.runId, call.stepPath),
    stepName: call.stepName,
    turnIndex: call.turnIndex,
    toolCallId: callId(run, call),
    attempt,
    idempotencyKey: call.idempotencyKey,
    // Computed on demand: it is a hash, and few tools read it.
    get turnKey() {
      return turnKey(run.runId, call.stepPath, call.turnIndex);
    },
    epoch: run.fence.epoch,
    signal,
    session,
    network: run.policy.rules.network,
    traceHeaders,
    ...run.artifacts.accessOf(call.stepKey),
    hide: (text, torn) => run.policy.secrets.withTexts(call.ownSecrets).hideText(text, torn),
    hideLong: async (text, torn) => run.policy.secrets.withTexts(call.ownSecrets).hideLongText(text, torn),
    correlate: (id) => correlation.keep(id),
    get correlationId() {
      return correlation.id;
    },
  };
}
