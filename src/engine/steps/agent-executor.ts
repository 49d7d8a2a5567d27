import { assertPayload } from "../../core/canonical-json.ts";
import { ConfigurationError, MaxTurnsExceededError, ResumeError } from "../../core/errors.ts";
import { type Json, withoutUndefined } from "../../core/json.ts";
import { stepId } from "../../core/step-path.ts";
import { BETWEEN_EXCHANGES } from "../../core/turn/exchange-decision.ts";
import { fingerprintChanges, fingerprintOf, hashChanges } from "../../core/turn/turn-fingerprint.ts";
import { priceOfModel } from "../../core/usage/usage.ts";
import { fingerprintDocument, prepareAgent } from "../definition/agent.ts";
import { answerOf } from "../definition/agent-output.ts";
import type { ConversationStep } from "../definition/conversation-step.ts";
import { earlierSteps } from "../definition/earlier-steps.ts";
import { assertKeysEnforced, type GranularStep, type TurnLoopStep } from "../definition/step.ts";
import { beginFromMilestone } from "../turn/begin-lineage.ts";
import { consentTo, decideDiverged } from "../turn/diverged-step.ts";
import { assertSameAsEarlierIteration, divergenceError } from "../turn/divergence.ts";
import type { OpenTurnMode } from "../turn/loaded-conversation.ts";
import { LoadedConversation } from "../turn/loaded-conversation.ts";
import { renderPrompt } from "../turn/turn-prompt.ts";
import type { TurnScope } from "../turn/turn-scope.ts";
import type { StepExecution, StepExecutor } from "./step-executor.ts";

/** Executes turn `expected` up to its commit: `executeTurn`, or the forecast's stand-in for it. */
export type TurnExecutor = (scope: TurnScope, expected: number) => Promise<unknown>;

/** Executes the turns of an agent one after the other, until the agent is complete. */
export function agentExecutor(executeTurn: TurnExecutor): StepExecutor<TurnLoopStep> {
  return {
    storage: "instance",
    execute: (loop, execution) =>
      withinAgentSpan(loop, execution, () => executeTurns(loop, execution, executeTurn)),
  };
}

/** A step of an agent: one that ends with its answer, or a conversation. */
type AgentStep = TurnLoopStep | ConversationStep;

export function withinAgentSpan(
  { children: [{ agent }] }: AgentStep,
  { path: step, run }: StepExecution,
  work: () => Promise<Json>,
): Promise<Json> {
  const { provider, modelId: model } = agent.model;
  const span = {
    kind: "agent",
    agent: agent.name,
    step,
    stepId: stepId(run.runId, step),
    provider,
    model,
  } as const;
  return run.observe.telemetry.within(span, work);
}

async function executeTurns(
  loop: TurnLoopStep,
  execution: StepExecution,
  executeTurn: TurnExecutor,
): Promise<Json> {
  execution.run.latest.begins(execution.path);
  let scope = await openStep(loop, execution);
  // All turns are committed and only the step's end is missing: this checks the fingerprint and skips the last turn.
  if (scope.conversation.isComplete) await executeTurn(scope, scope.conversation.committed);
  for (let reloads = 0; !scope.conversation.isComplete; ) {
    const expected = scope.conversation.committed + 1;
    if (expected > scope.lastTurn) throw tooManyTurns(loop, execution);
    try {
      await executeTurn(scope, expected);
    } catch (error) {
      // The store is ahead: load the conversation again and continue from there, at most once per allowed turn.
      if (!ResumeError.isInstance(error) || error.irrecoverable || ++reloads > loop.maxTurns) throw error;
      scope = await openScope(loop, execution);
    }
  }
  const output = await finalOutput(scope);
  const { runId, keeper } = execution.run;
  keeper.session.bus.publish("PromptExecuted", { runId, step: execution.path, output });
  return output;
}

/**
 * Opens the step at its last commit; or at a milestone, if the caller requested that and the step has begun. From a
 * milestone the agent may differ from before.
 */
export async function openStep(step: AgentStep, execution: StepExecution): Promise<TurnScope> {
  const open = () => openScope(step, execution);
  const {
    resume: { milestone },
  } = execution.run;
  if (!milestone.isOpen) {
    const opened = await open();
    const why = await acceptedBecause(step, opened);
    if (!milestone.isOpen) {
      const scope = await applyResumeOptions(opened, why, open);
      const isPinned = scope.conversation.storedFingerprint !== null;
      if (!isPinned && !milestone.wasRequested && why === null) await assertSameIteration(execution, scope);
      return scope;
    }
  }
  const abandoned = await openScope(step, execution, "abandon");
  const { storedFingerprint, isComplete } = abandoned.conversation;
  const isTalk = step.kind === "conversation";
  // All turns are committed, so the step only has to be finished; whether the agent has changed does not matter.
  if (isComplete && storedFingerprint !== null && !isTalk)
    return { ...abandoned, fingerprint: storedFingerprint.hash };
  const from = milestone.take();
  // Between two exchanges there is nothing to go back from.
  if (isComplete && isTalk) return openStep(step, execution);
  if (from !== null && storedFingerprint !== null) await beginFromMilestone(abandoned, from);
  return open();
}

/** Why a changed agent is accepted; null if it is not. By the policy, the step may go back to a milestone instead. */
async function acceptedBecause(
  step: AgentStep,
  { run, path, conversation, fingerprint, document }: TurnScope,
): Promise<string | null> {
  const { storedFingerprint, isComplete } = conversation;
  if (storedFingerprint === null || storedFingerprint.hash === fingerprint) return null;
  const error = divergenceError(run.runId, path, storedFingerprint.document, document);
  const consent = consentTo(run.resume, error);
  if (consent !== null) return consent;
  if (step.kind === "conversation") {
    // Nothing is half done there: no response is journaled, no call is open, and nothing is reserved.
    if (isComplete && step.divergence === "between_exchanges") return BETWEEN_EXCHANGES;
  } else if (isComplete) return null;
  const decided = await decideDiverged(run, { path, error, fingerprint });
  if (decided.kind === "accept") return decided.why;
  run.resume.milestone.setDefault({ kind: "last" });
  return null;
}

/** A loop does not switch to another agent half way, unless a person or the policy accepts that. */
async function assertSameIteration({ run, path }: StepExecution, scope: TurnScope): Promise<void> {
  try {
    await assertSameAsEarlierIteration(run, path, scope.document);
  } catch (error) {
    if (!ResumeError.isInstance(error)) throw error;
    if (consentTo(run.resume, error) !== null) return;
    await decideDiverged(run, { path, error, fingerprint: scope.fingerprint });
  }
}

/** Applies `acceptDivergence` (continue with a changed agent) and `redoTurn` (drop the journaled response). */
async function applyResumeOptions(
  scope: TurnScope,
  why: string | null,
  reopen: () => Promise<TurnScope>,
): Promise<TurnScope> {
  const { run, stepKey, conversation, fingerprint: hash, document } = scope;
  const { storedFingerprint, journaled, isComplete } = conversation;
  const hasChanged = storedFingerprint !== null && storedFingerprint.hash !== hash;
  const isRedone = run.resume.redoTurn && journaled !== null && !isComplete && (!hasChanged || why !== null);
  if (isRedone) {
    await run.store.dropTurn(run.fence, { stepKey, turnIndex: journaled.turnIndex });
    run.contract.budget.giveBackToolCalls(journaled.calls.length);
  }
  if (hasChanged && why !== null) {
    const changesHash = hashChanges(fingerprintChanges(storedFingerprint.document, document));
    await run.store.acceptDivergence(run.fence, {
      stepKey,
      fingerprint: { hash, document },
      why,
      changesHash,
    });
  }
  return isRedone || (hasChanged && why !== null) ? reopen() : scope;
}

/** Prepares everything that the turns share, and loads the stored conversation. No prompt is rendered in mode `abandon`. */
export async function openScope(
  { kind, maxTurns, children: [step], ...own }: AgentStep,
  execution: StepExecution,
  openTurn: OpenTurnMode = "continue",
): Promise<TurnScope> {
  const { run, path, instance } = execution;
  if (instance === null) throw new Error("The turns of an agent need their stored instance.");
  const { options, agent, name } = step;
  const input = await inputOf(step, execution);
  if (
    run.contract.limit.microDollars !== null &&
    priceOfModel(run.model.pricing, agent.model.modelId) === undefined
  )
    throw new ConfigurationError(
      `Run ${run.runId} has a budget in micro-dollars, and model ${agent.model.modelId} has no price: give the runner a \`pricing\` that has one, or a budget in tokens.`,
    );
  const sourceTools = await run.sources.toolsOf(agent.sources);
  if (options.enforceIdempotency) assertKeysEnforced(name, sourceTools);
  const prepared = await prepareAgent(
    agent,
    sourceTools,
    options.completion,
    run.model.estimateTokens,
    run.policy.rules.tools,
  );
  for (const { secrets } of prepared.tools.values()) run.policy.secrets.learnSecrets(secrets);
  const { enforceIdempotency, blobThresholdBytes, historyMaxTokens } = options;
  const isConversation = kind === "conversation";
  const mode = isConversation ? "conversation" : "granular";
  const switches = { mode, enforceIdempotency, blobThresholdBytes, historyMaxTokens };
  const document = { input, ...fingerprintDocument(prepared, switches, run.model.pricing.id) };
  const { stepKey } = instance;
  const fingerprint = fingerprintOf(document);
  const scope = { run, path, name, stepKey, instance, prepared, options, document, fingerprint };
  // The model never sees an abandoned conversation again.
  const prompt = openTurn === "abandon" ? "" : renderPrompt(scope, run.keeper.session.state);
  const conversation = await LoadedConversation.load(run, {
    stepKey,
    agent: prepared,
    input,
    prompt,
    options,
    mode: openTurn,
    isConversation,
  });
  const exchange = "limit" in own ? { limit: own.limit } : null;
  return { ...scope, conversation, lastTurn: conversation.firstTurn - 1 + maxTurns, exchange };
}

async function inputOf(
  { name, options: { input } }: GranularStep,
  { run, path, input: given }: StepExecution,
): Promise<Json> {
  if (typeof input !== "function") return input ?? given;
  const computed = withoutUndefined(await input(given as never, earlierSteps(run, path)));
  assertPayload(computed, `The input of step ${name}`);
  return computed;
}

/** The agent's last answer: its text, or the value that its output schema parses from it. */
export async function finalOutput(scope: TurnScope): Promise<Json> {
  const response = scope.conversation.lastResponse ?? (await responseBeforeSummary(scope));
  return response === null ? null : (await answerOf(scope.prepared, response)).output;
}

/** The last response of a conversation that has nothing but a summary since; else null. */
async function responseBeforeSummary({ run, path, conversation }: TurnScope) {
  if (!conversation.isCompacted) return null;
  const after = { stepPath: path, turnIndex: conversation.committed - 1 };
  const [last] = await run.store.listTurns(run.runId, { after, limit: 1 });
  return last?.stepPath === path ? last.response : null;
}

function tooManyTurns(loop: TurnLoopStep, { path }: StepExecution): MaxTurnsExceededError {
  return new MaxTurnsExceededError(
    `Step ${path} was not done after ${loop.maxTurns} turns: raise maxTurns of its agent({ … }) or Step.granular(name, agent, { … }) and resume; every turn so far is kept. In a job file it is max_turns, for a new run.`,
    { maxTurns: loop.maxTurns, step: path },
  );
}
