import { AnswerCutOffError } from "../../core/errors.ts";
import { providerCallsOf, textOf, toolCallsOf } from "../../core/message.ts";
import { type AnswerFacts, decideAnswer, isTurnComplete } from "../../core/turn/completion.ts";
import type { StoredResponse } from "../../store/store.ts";
import type { PreparedAgent } from "../definition/agent.ts";
import { answerOf } from "../definition/agent-output.ts";
import type { TurnScope } from "./turn-scope.ts";

/** `followUp` is the next message to the model, for an incomplete answer without tool calls; else null. */
export type AnswerEvaluation = { readonly isComplete: boolean; readonly followUp: string | null };

export async function evaluateAnswer(
  scope: TurnScope,
  turnIndex: number,
  response: StoredResponse,
): Promise<AnswerEvaluation> {
  const { prepared, conversation } = scope;
  const facts = await factsOf(prepared, turnIndex, response);
  // The provider is still working: it expects the conversation back unchanged, without a new message.
  if (isPaused(response)) return { isComplete: false, followUp: null };
  if (asksForTools(response))
    return { isComplete: facts.isComplete && facts.problem === null, followUp: null };
  const { lastResponse } = conversation;
  const before =
    facts.isCut && lastResponse !== null ? await factsOf(prepared, turnIndex - 1, lastResponse) : null;
  const { maxOutputTokens } = prepared.agent.settings;
  const decision = decideAnswer(facts, before, maxOutputTokens);
  switch (decision.kind) {
    case "final":
      return { isComplete: true, followUp: null };
    case "ask":
      return { isComplete: false, followUp: decision.followUp };
    case "cut_again":
      throw answerCutOffError(scope, turnIndex, maxOutputTokens);
  }
}

async function factsOf(
  prepared: PreparedAgent,
  turnIndex: number,
  response: StoredResponse,
): Promise<AnswerFacts> {
  const { output, problem } = await answerOf(prepared, response);
  const isComplete = isTurnComplete(prepared.completion, {
    turnIndex,
    text: textOf(response.content),
    output,
    toolCalls: toolCallsOf(response.content).map(({ toolName, input }) => ({ name: toolName, input })),
  });
  const { agent } = prepared;
  const isIntermediate = isPaused(response) || asksForTools(response);
  // JSON that parses and fits the schema is complete, even if text after it was cut off.
  const isWhole = agent.output !== null && problem === null && typeof output === "object";
  const isCut = response.finishReason === "length" && !agent.acceptCutAnswers && !isIntermediate && !isWhole;
  return { isComplete, problem, isCut };
}

function isPaused({ content }: StoredResponse): boolean {
  return providerCallsOf(content).some(({ output }) => output === null);
}

function asksForTools({ content }: StoredResponse): boolean {
  return toolCallsOf(content).length > 0;
}

function answerCutOffError(
  { run, path, prepared }: TurnScope,
  turn: number,
  maxOutputTokens: number,
): AnswerCutOffError {
  return new AnswerCutOffError(
    `Run ${run.runId}: the answer of agent ${prepared.agent.name} in step ${path} was cut off at ${maxOutputTokens} output tokens in turn ${turn} and in the turn before it. An incomplete answer is not used as output. Raise settings.maxOutputTokens and resume with redoTurn and acceptDivergence, or set acceptCutAnswers on the agent.`,
    { step: path, turn, maxOutputTokens },
  );
}
