import { assertPayload } from "../../core/canonical-json.ts";
import { ConfigurationError, MaxTurnsExceededError, ResumeError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { stepId } from "../../core/step-path.ts";
import { fingerprintOf } from "../../core/turn/turn-fingerprint.ts";
import { priceOfModel } from "../../core/usage/usage.ts";
import { fingerprintDocument, prepareAgent } from "../definition/agent.ts";
import { answerOf } from "../definition/agent-output.ts";
import { earlierSteps } from "../definition/earlier-steps.ts";
import { assertKeysEnforced, type GranularStep, type TurnLoopStep } from "../definition/step.ts";
import { beginFromMilestone } from "../turn/abandon-turn.ts";
import type { ScopeMode } from "../turn/conversation.ts";
import { Conversation } from "../turn/conversation.ts";
import { assertSameAsEarlierIteration } from "../turn/divergence.ts";
import { renderPrompt } from "../turn/turn-prompt.ts";
import type { TurnScope } from "../turn/turn-scope.ts";
import type { Frame, StepExecutor } from "./step-executor.ts";

/** Brings turn `expected` to its commit: `executeTurn`, or what the forecast does in its place. */
export type TakeTurn = (scope: TurnScope, expected: number) => Promise<unknown>;

/** Takes the turns of an agent one after the other, until its completion says that it is done. */
export function agentExecutor(takeTurn: TakeTurn): StepExecutor<TurnLoopStep> {
  return {
    storage: "instance",
    execute(loop, frame) {
      const [{ agent }] = loop.children;
      const { provider, modelId: model } = agent.model;
      const { path: step, run } = frame;
      const span = {
        kind: "agent",
        agent: agent.name,
        step,
        stepId: stepId(run.runId, step),
        provider,
        model,
      } as const;
      return run.observe.telemetry.within(span, () => takeTurns(loop, frame, takeTurn));
    },
  };
}

async function takeTurns(loop: TurnLoopStep, frame: Frame, takeTurn: TakeTurn): Promise<Json> {
  const [granular] = loop.children;
  frame.run.latest.begins(frame.path);
  let scope = await openStep(granular, loop.maxTurns, frame);
  // All turns are committed and only the step's end is missing: the last turn is skipped, after its fingerprint was checked.
  if (scope.conversation.isComplete) await takeTurn(scope, scope.conversation.committed);
  for (let reloads = 0; !scope.conversation.isComplete; ) {
    const expected = scope.conversation.committed + 1;
    if (expected > scope.lastTurn) throw tooManyTurns(loop, frame);
    try {
      await takeTurn(scope, expected);
    } catch (error) {
      // The store is ahead: load the conversation again and continue from there, at most once per allowed turn.
      if (!(error instanceof ResumeError) || error.irrecoverable || ++reloads > loop.maxTurns) throw error;
      scope = await openScope(granular, loop.maxTurns, frame);
    }
  }
  const output = await finalOutput(scope);
  const { runId, keeper } = frame.run;
  keeper.session.bus.publish("PromptExecuted", { runId, step: frame.path, output });
  return output;
}

/**
 * Where the step was left; or from a milestone, where that was asked for and the step has begun. Whoever asks for that lets
 * the agent be another one than before.
 */
async function openStep(step: GranularStep, maxTurns: number, frame: Frame): Promise<TurnScope> {
  const open = () => openScope(step, maxTurns, frame);
  const {
    resume: { milestone },
  } = frame.run;
  if (!milestone.isOpen) {
    const scope = await applyResumeOptions(await open(), open);
    const isPinned = scope.conversation.storedFingerprint !== null;
    if (!isPinned && !milestone.wasRequested && frame.run.resume.acceptDivergence === null)
      await assertSameAsEarlierIteration(frame.run, frame.path, scope.document);
    return scope;
  }
  const left = await openScope(step, maxTurns, frame, "abandon");
  const { storedFingerprint, isComplete } = left.conversation;
  // All of its turns are there: nothing is left to go back for, and whoever it is by now only finishes it.
  if (isComplete && storedFingerprint !== null) return { ...left, fingerprint: storedFingerprint.hash };
  const from = milestone.take();
  if (from !== null && storedFingerprint !== null) await beginFromMilestone(left, from);
  return open();
}

/** What a person has said about going on: with another agent than before, or without the response that is there. */
async function applyResumeOptions(scope: TurnScope, reopen: () => Promise<TurnScope>): Promise<TurnScope> {
  const { run, stepKey, conversation, fingerprint: hash, document } = scope;
  const { storedFingerprint, journaled, isComplete } = conversation;
  const why = run.resume.acceptDivergence;
  const isOther = storedFingerprint !== null && storedFingerprint.hash !== hash;
  const isRedone = run.resume.redoTurn && journaled !== null && !isComplete && (!isOther || why !== null);
  if (isRedone) {
    await run.store.dropTurn(run.fence, { stepKey, turnIndex: journaled.turnIndex });
    run.contract.budget.giveBackToolCalls(journaled.calls.length);
  }
  if (isOther && why !== null)
    await run.store.acceptDivergence(run.fence, { stepKey, fingerprint: { hash, document }, why });
  return isRedone || (isOther && why !== null) ? reopen() : scope;
}

/** Reads what the turns share, and the conversation as the store has it. One that is to be left is not rendered. */
export async function openScope(
  step: GranularStep,
  maxTurns: number,
  frame: Frame,
  mode: ScopeMode = "continue",
): Promise<TurnScope> {
  const { run, path, instance } = frame;
  if (instance === null) throw new Error("The turns of an agent need their stored instance.");
  const { options, agent, name } = step;
  const input = await inputOf(step, frame);
  if (
    run.contract.limit.microDollars !== null &&
    priceOfModel(run.model.pricing, agent.model.modelId) === undefined
  )
    throw new ConfigurationError(
      `Run ${run.runId} has a budget in micro-dollars, and model ${agent.model.modelId} has no price: give the runner a \`pricing\` that knows it, or a budget in tokens.`,
    );
  const more = await run.sources.toolsOf(agent.sources);
  if (options.enforceIdempotency) assertKeysEnforced(name, more);
  const prepared = await prepareAgent(
    agent,
    more,
    options.completion,
    run.model.estimateTokens,
    run.policy.rules.tools,
  );
  for (const { secrets } of prepared.tools.values()) run.policy.secrets.learnSecrets(secrets);
  const { enforceIdempotency, blobThresholdBytes, historyMaxTokens } = options;
  const switches = { mode: "granular", enforceIdempotency, blobThresholdBytes, historyMaxTokens };
  const document = { input, ...fingerprintDocument(prepared, switches, run.model.pricing.id) };
  const { stepKey } = instance;
  const fingerprint = fingerprintOf(document);
  const scope = { run, path, name, stepKey, instance, prepared, options, document, fingerprint };
  // An abandoned conversation is not shown to the model any more.
  const prompt = mode === "abandon" ? "" : renderPrompt(scope, run.keeper.session.state);
  const conversation = await Conversation.load(run, {
    stepKey,
    agent: prepared,
    input,
    prompt,
    options,
    mode,
  });
  return { ...scope, conversation, lastTurn: conversation.firstTurn - 1 + maxTurns };
}

async function inputOf(
  { name, options: { input } }: GranularStep,
  { run, path, input: given }: Frame,
): Promise<Json> {
  if (typeof input !== "function") return input ?? given;
  const made: unknown = await input(given, earlierSteps(run, path));
  assertPayload(made, `The input of step ${name}`);
  return made;
}

/** What the agent said last: its text, or what its schema makes of it. */
async function finalOutput({ conversation, prepared }: TurnScope): Promise<Json> {
  const response = conversation.lastResponse;
  return response === null ? null : (await answerOf(prepared, response)).output;
}

function tooManyTurns(loop: TurnLoopStep, { path }: Frame): MaxTurnsExceededError {
  return new MaxTurnsExceededError(
    `Step ${path} was not done after ${loop.maxTurns} turns: raise maxTurns and resume; every turn so far is kept.`,
    { maxTurns: loop.maxTurns, step: path },
  );
}
