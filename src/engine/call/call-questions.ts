import type { AskReason } from "../../core/call/tool-call-decision.ts";
import { type BudgetExceededError, PersonNeededError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { approvalNeedJson } from "../../core/person.ts";
import { hiddenIn, isHiddenIn } from "../../core/secret/secret-mark.ts";
import {
  asksPeople,
  asksPermission,
  type NewBudgetWait,
  type NewCallWait,
  type NewWait,
} from "../../core/wait.ts";
import type { ToolCallRecord, WaitRecord } from "../../store/store.ts";
import { approvalNeed } from "../definition/approval-rule.ts";
import { QUESTION } from "../definition/waiting/ask-human.ts";
import { withTimeLimit } from "../definition/waiting/time-limits.ts";
import type { RunWith } from "../run/active-run.ts";
import { type EarlierCall, NO_EARLIER_CALL } from "./call-earlier-result.ts";
import { callId, type PreparedCall, shownArguments } from "./call-prepared.ts";
import { type AttemptFailure } from "./tool-gateway.ts";

/** The error that leaves the run waiting for an answer to these questions, within the time limits of the policy. */
export function personNeeded(
  { runId, policy }: RunWith<"runId" | "policy">,
  waits: readonly NewWait[],
): PersonNeededError {
  const questions = waits.map(({ question: text }) => text).join(" ");
  const whom = waits.some(({ kind }) => asksPeople(kind)) ? " for a person" : "";
  return new PersonNeededError(`Run ${runId} waits${whom}: ${questions}`, {
    waits: waits.map((wait) => withTimeLimit(policy.rules.timeLimits, wait)),
  });
}

/** The question about a call that only a person can decide. */
export function askAbout(
  run: RunWith<"runId" | "policy">,
  call: PreparedCall,
  why: AskReason,
  about: {
    readonly earlier?: EarlierCall;
    readonly problem?: string | null;
    /** The outside system's id of the call, for a person to look it up. */
    readonly correlationId?: string | null;
  } = {},
): NewCallWait {
  const { name } = call.tool;
  const { earlier = NO_EARLIER_CALL, problem = null, correlationId = null } = about;
  switch (why) {
    case "approval":
      return question(run, call, "approval", `May ${name} run with these arguments?`);
    case "outdated_approval":
      return question(
        run,
        call,
        "approval",
        `The arguments of ${name} are not those that were approved. May it run with these?`,
      );
    case "uncertain_before": {
      const { toolCallId, failedWith } = earlier.kind === "uncertain" ? earlier : UNNAMED;
      return question(
        run,
        call,
        "possible_duplicate",
        `${name} failed before (${toolCallId}) and may have happened anyway. May it run again?`,
        { earlier: toolCallId, failedWith },
      );
    }
    case "left_over": {
      const { toolCallId } = earlier.kind === "left_over" ? earlier : UNNAMED;
      return question(
        run,
        call,
        "possible_duplicate",
        `This step called ${name} before it was interrupted (${toolCallId}), and now calls it with other arguments. May this call run as well?`,
        { earlier: toolCallId },
      );
    }
    case "in_doubt":
      return question(
        run,
        call,
        "in_doubt",
        `It is not known whether ${callId(run, call)} of ${name} happened. Find out, and settle it: as succeeded, with its result; as failed; or let it run again.`,
        { ...(problem === null ? {} : { problem }), ...(correlationId === null ? {} : { correlationId }) },
      );
  }
}

const UNNAMED = { toolCallId: "an earlier call", failedWith: null };

/** The question about a call in doubt that its step no longer asks for. */
export function askAboutRow(stepKey: number, row: ToolCallRecord): NewCallWait {
  const { turnIndex, callIndex, tool, effect, recovery, request, idempotencyKey, toolCallId } = row;
  return {
    kind: "in_doubt",
    stepKey,
    turnIndex,
    callIndex,
    question: `It is not known whether ${toolCallId} of ${tool} happened, and its step no longer asks for it. Find out, and settle it.`,
    subject: { tool, effect, recovery, arguments: request, idempotencyKey },
    argumentsHash: null,
  };
}

/** The same question again, for a run that is resumed before it was answered. */
export function askAgain(
  place: Pick<PreparedCall, "stepKey" | "turnIndex" | "callIndex">,
  { kind, question: text, subject }: WaitRecord & { readonly kind: NewCallWait["kind"] },
): NewCallWait {
  const { stepKey, turnIndex, callIndex } = place;
  return { kind, stepKey, turnIndex, callIndex, question: text, subject, argumentsHash: null };
}

/** The question whether the run may use more than its budget. */
export function askAboutBudget({ details }: BudgetExceededError): NewBudgetWait {
  const { budget, limit, used } = details;
  return {
    kind: "budget",
    question: `The run has reached its budget: ${budget} ${limit}, now at ${used}. What is the new limit? Answer with it, or deny it to end the run.`,
    subject: { budget, limit, used },
  };
}

/** The question of a tool that asked for a person, or about a tool that keeps failing in the same way. */
export function escalate(
  run: RunWith<"runId" | "policy">,
  call: PreparedCall,
  failure: AttemptFailure,
): NewCallWait {
  const { name } = call.tool;
  const text =
    failure.outcome === "needs_human"
      ? failure.message
      : `${name} keeps failing in the same way: ${failure.message}. Settle the call: let it run again, or give its result.`;
  if (failure.outcome === "needs_human" && failure.errorCode === QUESTION)
    return { ...question(run, call, "question", text), ...failure.clock };
  return {
    ...question(run, call, "escalation", text, { code: failure.errorCode, failedWith: failure.message }),
    ...failure.clock,
  };
}

/** What a tool waits for that is no person. */
export function waitFor(
  run: RunWith<"runId" | "policy">,
  call: PreparedCall,
  { message, wait }: AttemptFailure,
): NewCallWait {
  if (wait === undefined) throw new Error(`${call.tool.name} does not say what it waits for.`);
  return { ...question(run, call, wait.kind, message), ...wait };
}

/** The user of a chat may approve what the tool alone asks about; what the policy asks about is for operators. */
function approverOf({ policy }: RunWith<"policy">, { tool }: PreparedCall): JsonObject {
  const isUser = tool.approver === "user" && approvalNeed(policy.rules.approve, tool) === null;
  return isUser ? { approver: "user" } : {};
}

/** True for a model's call with a secret: unlike code, a model does not pass the secret again after the answer. */
function losesSecret({ turnIndex, request }: PreparedCall): boolean {
  return turnIndex > 0 && isHiddenIn(request);
}

const SECRET_LOST =
  "Hidden values are not stored, so the call cannot run after an answer: if it is approved, the model is asked to make the call again.";

function question(
  run: RunWith<"policy">,
  call: PreparedCall,
  kind: NewCallWait["kind"],
  text: string,
  more: JsonObject = {},
): NewCallWait {
  const { stepKey, turnIndex, callIndex, tool, idempotencyKey, approval } = call;
  const shown = shownArguments(run, call);
  const hidden = hiddenIn(shown.arguments ?? null, "arguments");
  if (asksPermission(kind) && losesSecret(call)) hidden.push(SECRET_LOST);
  return {
    kind,
    stepKey,
    turnIndex,
    callIndex,
    question: text,
    subject: {
      tool: tool.name,
      effect: tool.effect,
      recovery: tool.recovery,
      ...shown,
      ...(hidden.length === 0 ? {} : { hidden }),
      idempotencyKey,
      ...(asksPermission(kind) && approval !== null ? approvalNeedJson(approval) : {}),
      ...(kind === "approval" ? approverOf(run, call) : {}),
      ...more,
    },
    argumentsHash: asksPermission(kind) ? call.approvedArguments : null,
  };
}
