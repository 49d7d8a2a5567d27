import { isJson } from "../../core/canonical-json.ts";
import { ModelCallError, ResumeError } from "../../core/errors.ts";
import { throughJson } from "../../core/json.ts";
import { type AssistantPart, hasFiles, isToolCallPart, type Message, textOf } from "../../core/message.ts";
import { withoutForgedDigests } from "../../core/secret/secret-mark.ts";
import type { MessageGroup } from "../../core/turn/history-truncation.ts";
import type { Misfit } from "../../core/turn/misfits.ts";
import { type RefusedContents, refusedContents } from "../../core/turn/model-retry.ts";
import { decideTurn } from "../../core/turn/turn-decision.ts";
import { estimateMessageTokens } from "../../core/usage/token-estimate.ts";
import { type Amount, amountOf } from "../../core/usage/usage.ts";
import type {
  ModelCallSettlement,
  StoredResponse,
  TurnJournal,
  TurnOpened,
  TurnOpening,
} from "../../store/store.ts";
import { type PendingReceipt, storeReceipt } from "../call/call-receipt.ts";
import { offeredTools } from "../definition/provider-tool.ts";
import type { ModelResponse } from "../ports/model-port.ts";
import { reach } from "../run/active-run.ts";
import { beforeSideEffect } from "../run/checkpoint-cursor.ts";
import type { PendingSession } from "../run/session-keeper.ts";
import { divergenceError } from "./divergence.ts";
import { ExchangeOver, MailboxChanged } from "./exchange-over.ts";
import { evaluateAnswer } from "./final-answer.ts";
import type { OpenModelCall } from "./loaded-conversation.ts";
import { assertMayAnswer } from "./misfit-limit.ts";
import { askModel, chargeOnFailure, quotaError } from "./model-call.ts";
import { asTaken, exchangeTurn, type NextMessages, nextMessages } from "./next-messages.ts";
import { effectsToDispatch } from "./provider-calls.ts";
import { planTurnCalls, type TurnCalls } from "./turn-call-plan.ts";
import { runTurnCalls, type TurnCallResult, tryStoreReceipts } from "./turn-call-run.ts";
import { turnMisfits } from "./turn-misfits.ts";
import { renderPrompt, updatePrompt } from "./turn-prompt.ts";
import type { TurnScope } from "./turn-scope.ts";
import { adoptTurn, saveMilestoneLater, turnMilestone } from "./turn-session.ts";
import { countedResult, type TurnContent } from "./turn-view.ts";

export type TurnOutcome = { readonly executed: boolean; readonly isComplete: boolean };

/**
 * Brings turn `expected` to its commit, or finds that it is committed already.
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
      throw outOfSyncError(scope, expected, "ahead of this worker");
    case "gap":
      throw outOfSyncError(scope, expected, "missing a turn before it");
    case "diverged":
      throw divergenceError(
        run.runId,
        path,
        conversation.storedFingerprint?.document ?? null,
        scope.document,
      );
    case "replay":
    case "execute": {
      run.stop.signal.throwIfAborted();
      const replayed = decision.kind === "replay";
      run.observe.emit({ type: "turn.started", runId: run.runId, step: path, turn: expected, replayed });
      const turn = replayed ? await replayTurn(scope, expected) : await requestTurn(scope, expected);
      const isComplete = await chargeOnFailure(run, turn.journal, () => settleTurn(scope, turn));
      return { executed: true, isComplete };
    }
  }
}

/** A turn with its response. `journal` is null if commit 1 has written it; else commit 2 does. */
type AnsweredTurn = {
  readonly turnIndex: number;
  readonly response: StoredResponse;
  readonly tokens: number;
  readonly calls: TurnCalls;
  readonly journal: TurnJournal | null;
};

async function requestTurn(scope: TurnScope, turnIndex: number): Promise<AnsweredTurn> {
  const { prepared, conversation } = scope;
  assertMayAnswer(scope);
  updatePrompt(scope, turnIndex);
  const opening = turnOpening(scope, turnIndex, conversation.viewTokens());
  const messages = conversation.view();
  const { response, call, charge } = await endingExchange(scope, messages, () =>
    askModel(
      scope,
      turnIndex,
      {
        instructions: conversation.prompt,
        messages,
        tools: offeredTools(prepared, scope.run.policy.rules),
        outputSchema: prepared.outputSchema,
        settings: prepared.agent.settings,
      },
      { open: () => openCall(scope, opening), isSummary: false },
    ),
  );
  const answered = { stepKey: scope.stepKey, turnIndex, attempt: call.attempt, charge };
  return chargeOnFailure(scope.run, answered, () => {
    // A person has stopped the exchange, and the model has answered all the same: none of its calls may run.
    scope.run.stop.cuts.throwIfStopped();
    return journalTurn(scope, answered, response);
  });
}

/** In a conversation, a model that does not answer ends the exchange and not the run: nothing of the turn is journaled. */
async function endingExchange<T>(
  { exchange, conversation, document }: TurnScope,
  messages: readonly Message[],
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (exchange === null || !ModelCallError.isInstance(error)) throw error;
    const hasInput = document.input !== null && conversation.committed === 0;
    const refused = refusedContents(error.details, {
      hasFiles: messages.some(hasFiles),
      hasTexts: hasInput || conversation.taken.length > 0,
    });
    if (refused === null) throw new ExchangeOver("failed", error.message, { cause: error });
    throw new ExchangeOver("failed", refusalText(error, refused), { cause: error, refused });
  }
}

const AFTER_REFUSAL = {
  files:
    "From now on the model sees only the names of the files: send the message again without them, or with others.",
  texts: "From now on the model no longer sees the message: send it again in other words, or a shorter one.",
} as const;

/** The message of the error, for the sender: its advice is for a run that has failed. */
function refusalText({ message, details: { advice } }: ModelCallError, refused: RefusedContents): string {
  const what = advice !== undefined && message.endsWith(advice) ? message.slice(0, -advice.length) : message;
  return `${what.trimEnd()} ${AFTER_REFUSAL[refused]}`;
}

/** Commit 1. A response without calls has none: commit 2 then writes its journal too. */
async function journalTurn(
  scope: TurnScope,
  answered: ModelCallSettlement,
  response: ModelResponse,
): Promise<AnsweredTurn> {
  const { run, conversation } = scope;
  const { turnIndex } = answered;
  reach(run, "model:answered", scope.path, turnIndex);
  await run.keeper.lateCheckpoint();
  const { finishReason, responseId, invalidCalls } = response;
  // Models sometimes cut a character in half. One that cannot be stored must not cost the whole answer.
  const whole = isJson(response.content)
    ? response.content
    : (throughJson(response.content) as readonly AssistantPart[]);
  // A model never sees a digest: one in its text is forged, and could pass as evidence.
  const content = withoutForgedDigests(whole);
  const unredacted: StoredResponse = {
    content,
    finishReason,
    responseId,
    ...(Object.keys(invalidCalls).length > 0 ? { invalidCalls } : {}),
  };
  const stored = await run.policy.secrets.hideLarge(unredacted);
  const message = { role: "assistant", content: stored.content } as const;
  const tokens = estimateMessageTokens(message, scope.prepared.estimate);
  const calls = await planTurnCalls(scope, turnIndex, stored, { unredacted });
  const journal: TurnJournal = { ...answered, response: stored, tokens, calls: calls.rows };
  if (calls.rows.length === 0) return { turnIndex, response: stored, tokens, calls, journal };
  const checkpoint = await beforeSideEffect(run, scope.instance, turnIndex, effectsToDispatch(calls.rows));
  reach(run, "turn:before-journal", scope.path, turnIndex);
  await run.store.journalResponse(run.fence, {
    ...journal,
    receipts: calls.receipts,
    ...(checkpoint === null ? {} : { checkpoint }),
  });
  run.contract.budget.addToolCalls(calls.rows.length);
  conversation.openCall = null;
  reach(run, "turn:journaled", scope.path, turnIndex);
  return { turnIndex, response: stored, tokens, calls, journal: null };
}

async function replayTurn(scope: TurnScope, turnIndex: number): Promise<AnsweredTurn> {
  const { journaled } = scope.conversation;
  if (journaled === null) throw new Error(`Turn ${turnIndex} cannot be replayed: it is not journaled.`);
  const { response, tokens } = journaled;
  const calls = await planTurnCalls(scope, turnIndex, response, { known: journaled.calls });
  return { turnIndex, response, tokens, calls, journal: null };
}

/** Runs the tools and commits the turn. Resolves to true if the agent is done. */
async function settleTurn(scope: TurnScope, turn: AnsweredTurn): Promise<boolean> {
  // Calls that the provider ran are counted, but it is too late to prevent them.
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
  const end = await planTurnEnd(scope, turn, unstored);
  const content = { ...turnContent(turn, results, end.followUp), taken: conversation.taken };
  const group = conversation.turns.group(content);
  const { planned, nextPrompt, joining } = end;
  const next = nextPrompt === null ? null : nextOpening(scope, turnIndex + 1, { group, joining }, nextPrompt);
  const milestone = await turnMilestone(scope, turnIndex, turn.calls, planned);
  const isLate = planned.milestone === "after_commit";
  const session = run.keeper.sessionCommit(planned, isLate ? null : milestone);
  reach(run, "turn:before-commit", path, turnIndex);
  const commit = {
    stepKey,
    turnIndex,
    journal: turn.journal,
    followUp: end.followUp,
    receipts: unstored.map(({ receipt }) => receipt),
    isComplete: end.isComplete,
    ...(scope.exchange === null ? {} : { unlessMessages: true as const }),
    messages: group.messages.length,
    tokens: conversation.turns.wholeTokens(content),
    next,
    ...(session === undefined ? {} : { session }),
  };
  const committed = await run.store.commitTurn(run.fence, commit).catch(async (error: unknown) => {
    await tryStoreReceipts(scope, unstored);
    throw error;
  });
  reach(run, "turn:committed", path, turnIndex);
  const { isComplete } = committed;
  const { tokens } = commit;
  conversation.advance({ turnIndex, group, tokens, response, isComplete, misfits: end.misfits });
  conversation.openCall =
    committed.next?.kind === "opened" ? { turnIndex: turnIndex + 1, ...committed.next } : null;
  if (conversation.openCall !== null) conversation.taken = asTaken(joining);
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
  if (isLate && milestone !== null) saveMilestoneLater(scope, turnIndex, planned, milestone);
  return isComplete;
}

type TurnEnd = {
  readonly isComplete: boolean;
  readonly followUp: string | null;
  readonly misfits: readonly Misfit[];
  readonly planned: PendingSession;
  /** The instructions of the next turn; null if there is none. */
  readonly nextPrompt: string | null;
  /** The messages of a conversation that the next turn takes. */
  readonly joining: NextMessages["joining"];
};

/** Decides whether the agent is done, and computes the new session. If that throws, the receipts are stored first. */
async function planTurnEnd(
  scope: TurnScope,
  { turnIndex, response, calls, journal }: AnsweredTurn,
  unstored: readonly PendingReceipt[],
): Promise<TurnEnd> {
  const { run } = scope;
  try {
    const answer = await evaluateAnswer(scope, turnIndex, response);
    const { followUp } = answer;
    const misfits = await turnMisfits(scope.prepared, response, followUp, calls.items);
    const planned = calls.events.plan();
    const { joining, isStopped } = await nextMessages(scope);
    // Its sender has said more: the exchange goes on with that.
    const isComplete = answer.isComplete && (joining.length === 0 || isStopped);
    const isNext = !isComplete && !isStopped && turnIndex < scope.lastTurn;
    const nextPrompt = isNext ? renderPrompt(scope, planned.state) : null;
    return { isComplete, followUp, misfits, planned, nextPrompt, joining };
  } catch (error) {
    for (const pending of unstored) await storeReceipt(run, pending);
    if (journal !== null) await run.store.journalResponse(run.fence, journal);
    throw error;
  }
}

/** The content that this turn adds to the conversation. */
function turnContent(
  turn: AnsweredTurn,
  called: readonly TurnCallResult[],
  followUp: string | null,
): Omit<TurnContent, "taken"> {
  // The result of a provider's call is in the response already.
  const results = called.filter(({ part }) => isToolCallPart(part)).map(countedResult);
  return { response: turn.response, tokens: turn.tokens, results, followUp };
}

/** The reservation for a model call: the estimated input, and the output cap. */
function turnOpening(scope: TurnScope, turnIndex: number, viewTokens: number): TurnOpening {
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

/** Null if the reservation cannot be computed: that must fail the next turn when it opens, not this one. */
function nextOpening(
  scope: TurnScope,
  turnIndex: number,
  { group, joining }: { readonly group: MessageGroup; readonly joining: NextMessages["joining"] },
  prompt: string,
): TurnOpening | null {
  const viewTokens = scope.conversation.viewTokens({ group, taken: asTaken(joining) }, prompt);
  const opening = {
    ...turnOpening(scope, turnIndex, viewTokens),
    ...exchangeTurn(scope, { messages: joining, begins: false }),
  };
  return Object.values(opening.reserve).every(Number.isSafeInteger) ? opening : null;
}

/** Opens the model call. In steady state it was reserved in the commit of the turn before. */
async function openCall(scope: TurnScope, opening: TurnOpening): Promise<OpenModelCall> {
  const { run, conversation, path } = scope;
  if (conversation.openCall?.turnIndex === opening.turnIndex) return conversation.openCall;
  reach(run, "turn:before-open", path, opening.turnIndex);
  const taking = conversation.taking ?? { messages: [], begins: false };
  const opened = await run.store.openTurn(run.fence, { ...opening, ...exchangeTurn(scope, taking) });
  if (opened.kind === "stale") throw new MailboxChanged();
  if (opened.kind === "denied" && opened.ofExchange === true) throw exchangeBudget(opened);
  if (opened.kind === "denied") throw await quotaError(run, opened);
  conversation.take();
  reach(run, "turn:opened", path, opening.turnIndex);
  conversation.openCall = {
    turnIndex: opening.turnIndex,
    attempt: opened.attempt,
    reserved: opened.reserved,
  };
  return conversation.openCall;
}

function exchangeBudget({ wanted, unit, remaining }: Extract<TurnOpened, { kind: "denied" }>): ExchangeOver {
  return new ExchangeOver(
    "budget",
    `The budget of the exchange is used up: the next model call reserves up to ${wanted} ${unit}, and ${remaining} remain.`,
  );
}

export function outOfSyncError(
  { conversation, run, path }: TurnScope,
  expected: number,
  where: string,
): ResumeError {
  return new ResumeError(
    `Run ${run.runId}: turn ${expected} of step ${path} was requested, but the store, at turn ${conversation.committed}, is ${where}. Nothing was run. Load the run again and resume.`,
    { irrecoverable: false, changes: [] },
  );
}
