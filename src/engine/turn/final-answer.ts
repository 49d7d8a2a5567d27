import { AnswerCutOffError } from "../../core/errors.ts";
import { providerCallsOf, textOf, toolCallsOf } from "../../core/message.ts";
import { type AnswerFacts, decideAnswer, isTurnComplete } from "../../core/turn/completion.ts";
import type { StoredResponse } from "../../store/store.ts";
import type { PreparedAgent } from "../definition/agent.ts";
import { answerOf } from "../definition/agent-output.ts";
import type { TurnScope } from "./turn-scope.ts";

/** Whether a response ends the agent's turns, and what the model is asked for where it does not and asked for nothing itself. */
export type AnswerVerdict = { readonly isComplete: boolean; readonly followUp: string | null };

export async function judgeAnswer(
  scope: TurnScope,
  turnIndex: number,
  response: StoredResponse,
): Promise<AnswerVerdict> {
  const { prepared, conversation } = scope;
  const facts = await factsOf(prepared, turnIndex, response);
  // The provider is still at it: it wants the conversation back as it is, and no word from anybody.
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
      throw cutOff(scope, turnIndex, maxOutputTokens);
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
  const isAsked = isPaused(response) || asksForTools(response);
  // JSON that is closed and fits is whole, whatever the model wrote after it.
  const isWhole = agent.output !== null && problem === null && typeof output === "object";
  const isCut = response.finishReason === "length" && !agent.acceptCutAnswers && !isAsked && !isWhole;
  return { isComplete, problem, isCut };
}

function isPaused({ content }: StoredResponse): boolean {
  return providerCallsOf(content).some(({ output }) => output === null);
}

function asksForTools({ content }: StoredResponse): boolean {
  return toolCallsOf(content).length > 0;
}

function cutOff(
  { run, path, prepared }: TurnScope,
  turn: number,
  maxOutputTokens: number,
): AnswerCutOffError {
  return new AnswerCutOffError(
    `Run ${run.runId}: the answer of agent ${prepared.agent.name} in step ${path} was cut off at ${maxOutputTokens} output tokens, in turn ${turn} as in the one before, and half an answer is no output. Raise settings.maxOutputTokens and resume with redoTurn and acceptDivergence, or let the agent have acceptCutAnswers.`,
    { step: path, turn, maxOutputTokens },
  );
}
