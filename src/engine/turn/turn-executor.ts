import { isJson } from "../../core/canonical-json.ts";
import { ResumeError } from "../../core/errors.ts";
import { throughJson } from "../../core/json.ts";
import { type AssistantPart, isToolCallPart, textOf } from "../../core/message.ts";
import { withoutForgedDigests } from "../../core/secret/secret-mark.ts";
import type { MessageGroup } from "../../core/turn/history-truncation.ts";
import { decideTurn } from "../../core/turn/turn-decision.ts";
import { estimateMessageTokens } from "../../core/usage/token-estimate.ts";
import { type Amount, amountOf } from "../../core/usage/usage.ts";
import type { ModelCallSettlement, StoredResponse, TurnJournal, TurnOpening } from "../../store/store.ts";
import { type PendingReceipt, storeReceipt } from "../call/call-receipt.ts";
import { offeredTools } from "../definition/provider-tool.ts";
import type { ModelResponse } from "../ports/model-port.ts";
import { reach } from "../run/active-run.ts";
import { beforeSideEffect } from "../run/checkpoint-cursor.ts";
import type { PendingSession } from "../run/session-keeper.ts";
import type { OpenModelCall } from "./conversation.ts";
import { diverged } from "./divergence.ts";
import { judgeAnswer } from "./final-answer.ts";
import { askModel, quotaExceeded, settle } from "./model-call.ts";
import { effectsOf } from "./provider-calls.ts";
import { planTurnCalls, type TurnCalls } from "./turn-call-plan.ts";
import { keepReceipts, runTurnCalls, type TurnCallResult } from "./turn-call-run.ts";
import { renderPrompt, usePrompt } from "./turn-prompt.ts";
import type { TurnScope } from "./turn-scope.ts";
import { adoptTurn, milestoneOf } from "./turn-session.ts";
import type { TurnContent } from "./turn-view.ts";

export type TurnOutcome = { readonly executed: boolean; readonly isComplete: boolean };

/**
 * Brings turn `expected` to its commit, or finds that it is there already.
 *
 *   decide ─► open ─► model ─► JOURNAL ─► tools ─► COMMIT
 */
export async function executeTurn(scope: TurnScope, expected: number): Promise<TurnOutcome> {
  const { conversation, run, path } = scope;
  const decision = decideTurn(conversation.stored(), expected, scope.fingerprint);
  switch (decision.kind) {
    case "skip":
    case "finished":
      return { executed: false, isComplete: conversation.isComplete };
    case "behind":
      throw outOfStep(scope, expected, "ahead of this worker");
    case "gap":
      throw outOfStep(scope, expected, "missing a turn before it");
    case "diverged":
      throw diverged(run.runId, path, conversation.storedFingerprint?.document ?? null, scope.document);
    case "replay":
    case "execute": {
      run.stop.signal.throwIfAborted();
      const replayed = decision.kind === "replay";
      run.observe.emit({ type: "turn.started", runId: run.runId, step: path, turn: expected, replayed });
      const turn = replayed ? await replayTurn(scope, expected) : await askTurn(scope, expected);
      const isComplete = await chargeOnFailure(scope, turn.journal, () => settleTurn(scope, turn));
      return { executed: true, isComplete };
    }
  }
}

/** A turn whose response is known. `journal` is what commit 1 still has to write: null when it has. */
type AnsweredTurn = {
  readonly turnIndex: number;
  readonly response: StoredResponse;
  readonly tokens: number;
  readonly calls: TurnCalls;
  readonly journal: TurnJournal | null;
};

async function askTurn(scope: TurnScope, turnIndex: number): Promise<AnsweredTurn> {
  const { prepared, conversation } = scope;
  usePrompt(scope, turnIndex);
  const opening = openingOf(scope, turnIndex, conversation.viewTokens());
  const { response, call, charge } = await askModel(
    scope,
    turnIndex,
    {
      instructions: conversation.prompt,
      messages: conversation.view(),
      tools: offeredTools(prepared, scope.run.policy.rules),
      outputSchema: prepared.outputSchema,
      settings: prepared.agent.settings,
    },
    () => openCall(scope, opening),
  );
  const answered = { stepKey: scope.stepKey, turnIndex, attempt: call.attempt, charge };
  return chargeOnFailure(scope, answered, () => journalTurn(scope, answered, response));
}

/** Commit 1. A response without calls is left to commit 2, which then writes both. */
async function journalTurn(
  scope: TurnScope,
  answered: ModelCallSettlement,
  response: ModelResponse,
): Promise<AnsweredTurn> {
  const { run, conversation } = scope;
  const { turnIndex } = answered;
  reach(run, "model:answered", scope.path, turnIndex);
  const { finishReason, responseId, invalidCalls } = response;
  // A model cuts a character in half now and then; what cannot be stored must not cost the whole answer.
  const whole = isJson(response.content)
    ? response.content
    : (throughJson(response.content) as readonly AssistantPart[]);
  // A model is never sent a digest: one in its words is made up, and would pass for evidence.
  const content = withoutForgedDigests(whole);
  const asked: StoredResponse = {
    content,
    finishReason,
    responseId,
    ...(Object.keys(invalidCalls).length > 0 ? { invalidCalls } : {}),
  };
  const stored = await run.policy.secrets.hideLarge(asked);
  const message = { role: "assistant", content: stored.content } as const;
  const tokens = estimateMessageTokens(message, scope.prepared.estimate);
  const calls = await planTurnCalls(scope, turnIndex, stored, { asked });
  const journal: TurnJournal = { ...answered, response: stored, tokens, calls: calls.rows };
  if (calls.rows.length === 0) return { turnIndex, response: stored, tokens, calls, journal };
  const checkpoint = await beforeSideEffect(run, scope.instance, turnIndex, effectsOf(calls.rows));
  reach(run, "turn:before-journal", scope.path, turnIndex);
  // In one tick, and so in one commit: what the provider ran is over, and never to be found in doubt.
  await Promise.all([
    run.store.journalResponse(run.fence, { ...journal, ...(checkpoint === null ? {} : { checkpoint }) }),
    ...calls.receipts.map((receipt) =>
      run.store.recordReceipt(run.fence, { stepKey: scope.stepKey, turnIndex, receipt }),
    ),
  ]);
  run.contract.budget.addToolCalls(calls.rows.length);
  conversation.openCall = null;
  reach(run, "turn:journaled", scope.path, turnIndex);
  return { turnIndex, response: stored, tokens, calls, journal: null };
}

/** A provider that has answered is to be paid, whatever goes wrong before its answer is journaled. Null: it is. */
async function chargeOnFailure<T>(
  { run }: TurnScope,
  answered: ModelCallSettlement | null,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Refused where the answer was journaled after all: a try is charged once.
    if (answered !== null) await settle(run, answered).catch(() => undefined);
    throw error;
  }
}

async function replayTurn(scope: TurnScope, turnIndex: number): Promise<AnsweredTurn> {
  const { journaled } = scope.conversation;
  if (journaled === null) throw new Error(`Turn ${turnIndex} is to be replayed and is not journaled.`);
  const { response, tokens } = journaled;
  const calls = await planTurnCalls(scope, turnIndex, response, { known: journaled.calls });
  return { turnIndex, response, tokens, calls, journal: null };
}

/** Runs the tools and commits the turn. Resolves to whether the agent is done. */
async function settleTurn(scope: TurnScope, turn: AnsweredTurn): Promise<boolean> {
  // What the provider ran is counted, and cannot be kept from happening any more.
  if (turn.calls.items.some(({ part }) => isToolCallPart(part))) scope.run.contract.budget.assertToolCalls();
  const called = await runTurnCalls(scope, turn.turnIndex, turn.calls);
  return scope.run.keeper.whileHeld(() => commitTurn(scope, turn, called));
}

async function commitTurn(
  scope: TurnScope,
  turn: AnsweredTurn,
  { results, unstored }: Awaited<ReturnType<typeof runTurnCalls>>,
): Promise<boolean> {
  const { run, conversation, path, stepKey } = scope;
  const { turnIndex, response } = turn;
  const verdict = await judge(scope, turn, unstored);
  const content = answeredContent(turn, results, verdict.followUp);
  const group = conversation.turns.group(content);
  const { isComplete, planned, nextPrompt } = verdict;
  const next = nextPrompt === null ? null : nextOpening(scope, turnIndex + 1, group, nextPrompt);
  const milestone = await milestoneOf(scope, turnIndex, turn.calls, planned);
  const session = run.keeper.sessionCommit(planned, milestone);
  reach(run, "turn:before-commit", path, turnIndex);
  const commit = {
    stepKey,
    turnIndex,
    journal: turn.journal,
    followUp: verdict.followUp,
    receipts: unstored.map(({ receipt }) => receipt),
    isComplete,
    messages: group.messages.length,
    tokens: conversation.turns.wholeTokens(content),
    next,
    ...(session === undefined ? {} : { session }),
  };
  const committed = await run.store.commitTurn(run.fence, commit).catch(async (error: unknown) => {
    await keepReceipts(scope, unstored);
    throw error;
  });
  reach(run, "turn:committed", path, turnIndex);
  conversation.advance({ turnIndex, group, response, isComplete });
  conversation.openCall =
    committed.next?.kind === "opened" ? { turnIndex: turnIndex + 1, ...committed.next } : null;
  const checkpoint =
    committed.checkpoint === null || milestone === null
      ? null
      : { number: committed.checkpoint, cursor: milestone.cursor };
  run.observe.emit({
    type: "turn.committed",
    runId: run.runId,
    step: path,
    turn: turnIndex,
    text: textOf(response.content),
    isComplete,
  });
  await adoptTurn(scope, { turnIndex, isComplete, planned, results, checkpoint });
  return isComplete;
}

type TurnVerdict = {
  readonly isComplete: boolean;
  readonly followUp: string | null;
  readonly planned: PendingSession;
  /** What the agent will be told in the next turn; null where there is none. */
  readonly nextPrompt: string | null;
};

/** Whether the agent is done, what to tell it if not, and what the session comes to. If that throws, what the tools did is stored first. */
async function judge(
  scope: TurnScope,
  { turnIndex, response, calls, journal }: AnsweredTurn,
  unstored: readonly PendingReceipt[],
): Promise<TurnVerdict> {
  const { run } = scope;
  try {
    const { isComplete, followUp } = await judgeAnswer(scope, turnIndex, response);
    const planned = calls.events.plan();
    const nextPrompt = !isComplete && turnIndex < scope.lastTurn ? renderPrompt(scope, planned.state) : null;
    return { isComplete, followUp, planned, nextPrompt };
  } catch (error) {
    for (const pending of unstored) await storeReceipt(run, pending);
    if (journal !== null) await run.store.journalResponse(run.fence, journal);
    throw error;
  }
}

/** What this turn adds to the conversation. */
function answeredContent(
  turn: AnsweredTurn,
  called: readonly TurnCallResult[],
  followUp: string | null,
): TurnContent {
  // The result of a provider's own call stands in the response already.
  const results = called.filter(({ part }) => isToolCallPart(part));
  return { response: turn.response, tokens: turn.tokens, results, followUp };
}

/** The reservation for a call: what goes in, and the most that may come out. */
function openingOf(scope: TurnScope, turnIndex: number, viewTokens: number): TurnOpening {
  const { agent } = scope.prepared;
  const usage = {
    inputTokens: viewTokens + scope.prepared.schemaTokens,
    outputTokens: agent.settings.maxOutputTokens,
    cachedInputTokens: 0,
    reasoningTokens: 0,
  };
  const reserve: Amount = amountOf(usage, agent.model.modelId, scope.run.model.pricing);
  return {
    stepKey: scope.stepKey,
    turnIndex,
    reserve,
    fingerprint: { hash: scope.fingerprint, document: scope.document },
  };
}

/** A reservation that cannot be computed does not fail the turn before it: the turn then opens by itself, and fails. */
function nextOpening(
  scope: TurnScope,
  turnIndex: number,
  pending: MessageGroup,
  prompt: string,
): TurnOpening | null {
  const opening = openingOf(scope, turnIndex, scope.conversation.viewTokens(pending, prompt));
  return Object.values(opening.reserve).every(Number.isSafeInteger) ? opening : null;
}

/** In steady state the call was reserved for in the commit of the turn before. */
async function openCall(scope: TurnScope, opening: TurnOpening): Promise<OpenModelCall> {
  const { run, conversation, path } = scope;
  if (conversation.openCall?.turnIndex === opening.turnIndex) return conversation.openCall;
  reach(run, "turn:before-open", path, opening.turnIndex);
  const opened = await run.store.openTurn(run.fence, opening);
  if (opened.kind === "denied") throw await quotaExceeded(run, opened);
  reach(run, "turn:opened", path, opening.turnIndex);
  conversation.openCall = {
    turnIndex: opening.turnIndex,
    attempt: opened.attempt,
    reserved: opened.reserved,
  };
  return conversation.openCall;
}

function outOfStep({ conversation, run, path }: TurnScope, expected: number, where: string): ResumeError {
  return new ResumeError(
    `Run ${run.runId}: turn ${expected} of step ${path} was asked for and the store, at turn ${conversation.committed}, is ${where}. Nothing was run; reload and go on.`,
    { irrecoverable: false, changes: [] },
  );
}
