import { BudgetExceededError, ModelCallError, QuotaExceededError } from "../../core/errors.ts";
import { type Message, textOf } from "../../core/message.ts";
import { withoutForgedDigests } from "../../core/secret/secret-mark.ts";
import { conversationText, SUMMARY_INSTRUCTIONS, summaryProblem } from "../../core/turn/history-summary.ts";
import { estimateMessageTokens } from "../../core/usage/token-estimate.ts";
import { amountOf } from "../../core/usage/usage.ts";
import type { ModelCallSettlement } from "../../store/store.ts";
import type { CompactionOptions } from "../definition/conversation-step.ts";
import { reach } from "../run/active-run.ts";
import { assertMayBegin } from "../run/deadline.ts";
import type { OpenModelCall } from "./loaded-conversation.ts";
import { askModel, chargeOnFailure, quotaError, settleModelCall } from "./model-call.ts";
import type { TurnScope } from "./turn-scope.ts";

/** What became of a history that was to be compacted. */
export type CompactionOutcome =
  /** The conversation has to be loaded again: it continues with the summary. */
  | { readonly kind: "compacted" }
  /** There is no summary. The conversation continues with the history that it has. */
  | { readonly kind: "kept"; readonly why: string };

/** A text that may become the summary, with the settled model call that it is from; null for a function. */
type Draft = {
  readonly text: string;
  readonly finishReason: string | null;
  readonly call: ModelCallSettlement | null;
};

/**
 * Replaces the history of a conversation by a summary, between two exchanges.
 *
 *   open ─► model ─► COMMIT: the summary, its charge, and a new lineage
 */
export async function compactHistory(
  scope: TurnScope,
  compaction: CompactionOptions,
): Promise<CompactionOutcome> {
  const { run } = scope;
  const { summarize, instructions = SUMMARY_INSTRUCTIONS, atTokens } = compaction;
  const history = scope.conversation.past();
  let draft: Draft;
  try {
    draft =
      summarize === undefined
        ? await askForSummary(scope, instructions, history)
        : { text: await written(scope, summarize, history), finishReason: null, call: null };
  } catch (error) {
    // A run that has to stop does so now, whatever it stops with.
    run.stop.signal.throwIfAborted();
    if (!isKeeping(error)) throw error;
    return { kind: "kept", why: await run.policy.secrets.hideLarge(error.message) };
  }
  const { call } = draft;
  const { summary, problem } = await chargeOnFailure(run, call, () => judged(scope, draft, atTokens));
  if (problem === null) {
    await chargeOnFailure(run, call, () => beginWith(scope, summary, call));
    return { kind: "compacted" };
  }
  if (call !== null) await settleModelCall(run, call);
  return { kind: "kept", why: problem };
}

/** The text as it would be stored, and what is wrong with it. */
async function judged(
  { run, prepared }: TurnScope,
  { text, finishReason }: Draft,
  atTokens: number,
): Promise<{ readonly summary: string; readonly problem: string | null }> {
  const summary = await run.policy.secrets.hideLarge(storable(text));
  const tokens = prepared.estimate(summary);
  return { summary, problem: summaryProblem({ text: summary, finishReason, tokens, atTokens }) };
}

async function beginWith(scope: TurnScope, summary: string, call: Draft["call"]): Promise<void> {
  const { run, path: step, stepKey, conversation, fingerprint: hash, document } = scope;
  const turn = conversation.committed + 1;
  reach(run, "compaction:before-commit", step, conversation.committed);
  await run.store.compactHistory(run.fence, {
    stepKey,
    turnIndex: turn,
    summary,
    fingerprint: { hash, document },
    call,
  });
  reach(run, "compaction:committed", step, conversation.committed);
  const { runId } = run;
  run.observe.emit({ type: "lineage.begun", runId, step, turn, checkpoint: null, reason: "compaction" });
}

/** The summary has failed, and nothing else has: the conversation can continue without it. */
class SummaryFailed extends Error {
  override readonly name = "SummaryFailed";
}

function isKeeping(error: unknown): error is Error {
  return (
    error instanceof SummaryFailed ||
    ModelCallError.isInstance(error) ||
    QuotaExceededError.isInstance(error) ||
    BudgetExceededError.isInstance(error)
  );
}

/** Asks the agent's model, without tools: the whole conversation is one text in the request. */
async function askForSummary(
  scope: TurnScope,
  instructions: string,
  history: readonly Message[],
): Promise<Draft> {
  const { run, stepKey, conversation, prepared } = scope;
  const { agent, estimate } = prepared;
  const turnIndex = conversation.committed + 1;
  const asked: Message = { role: "user", content: conversationText(history) };
  const system: Message = { role: "system", content: instructions };
  const usage = {
    inputTokens: estimateMessageTokens(system, estimate) + estimateMessageTokens(asked, estimate),
    outputTokens: agent.settings.maxOutputTokens,
    cachedInputTokens: 0,
    reasoningTokens: 0,
  };
  const reserve = amountOf(usage, agent.model.modelId, run.model.pricing);
  const request = {
    instructions,
    messages: [asked],
    tools: [],
    outputSchema: null,
    settings: agent.settings,
  };
  const open = () => openSummary(scope, { stepKey, turnIndex, reserve });
  const { response, call, charge } = await askModel(scope, turnIndex, request, { open, isSummary: true });
  return {
    text: textOf(response.content),
    finishReason: response.finishReason,
    call: { stepKey, turnIndex, attempt: call.attempt, charge },
  };
}

async function openSummary(
  { run, path, conversation }: TurnScope,
  opening: Parameters<TurnScope["run"]["store"]["openSummary"]>[1],
): Promise<OpenModelCall> {
  reach(run, "compaction:before-open", path, conversation.committed);
  const opened = await run.store.openSummary(run.fence, opening);
  if (opened.kind === "denied") throw await quotaError(run, opened);
  reach(run, "compaction:opened", path, conversation.committed);
  const { attempt, reserved } = opened;
  return { turnIndex: opening.turnIndex, attempt, reserved };
}

/** The text of the user's function. A function that ignores its signal is not waited for. */
async function written(
  { run }: TurnScope,
  summarize: NonNullable<CompactionOptions["summarize"]>,
  history: readonly Message[],
): Promise<string> {
  assertMayBegin(run);
  const stopped = Promise.withResolvers<never>();
  const stopListening = run.stop.onAbort(stopped.reject);
  try {
    const text: unknown = await Promise.race([
      (async () => summarize(history, { signal: run.stop.signal }))(),
      stopped.promise,
    ]);
    if (typeof text === "string") return text;
    throw new SummaryFailed("The summarize of the conversation did not return a text.");
  } catch (error) {
    run.stop.signal.throwIfAborted();
    if (error instanceof SummaryFailed) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new SummaryFailed(`The summarize of the conversation failed: ${message}`, { cause: error });
  } finally {
    stopListening();
  }
}

/** Without halves of characters and NUL, which no database stores; a digest in it is forged, since no model sees one. */
function storable(text: string): string {
  return withoutForgedDigests(text.toWellFormed().replaceAll("\0", ""));
}
