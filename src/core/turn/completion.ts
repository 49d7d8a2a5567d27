import { isJsonObject, type Json, type JsonObject } from "../json.ts";

/** The argument of a completion predicate. */
export type CompletedTurn = {
  readonly turnIndex: number;
  readonly text: string;
  /** The structured output, if the agent has an output schema and the answer fits it. */
  readonly output: Json;
  readonly toolCalls: readonly { readonly name: string; readonly input: Json }[];
};

/**
 * Decides when an agent is done: by the form of its answers (`auto`), by a word (`signal`), by its first answer
 * without tool calls (`answer`), or by a function.
 */
export type Completion = "auto" | "signal" | "answer" | ((turn: CompletedTurn) => boolean);

const FLAGS = ["isComplete", "is_complete", "done", "finished"] as const;

/** COMPLETE or DONE as a whole upper-case word: neither INCOMPLETE nor DONE_FLAG nor AUTO-COMPLETE. */
const SIGNAL = /(?<![\p{L}\p{N}]_*-?)(?:COMPLETE|DONE)(?!_*-?[\p{L}\p{N}])/gu;

/** The end of a clause: a negation before it does not apply to the words after it. */
const CLAUSE_END =
  /[.,](?=\s|$)|[;:!?()[\]|\n→–—]|\s-+\s|\b(?:and|but|so|because|since|though|although|however)\b/iu;
/** Longer than any clause that matters. */
const CLAUSE_LENGTH = 200;
/** Emphasis and quotation marks do not change the meaning. */
const MARKUP = /[*_`~"“”]/g;

/** Before it in its clause: "not DONE", "I don't think that it is DONE", "I will say DONE when", "almost DONE". */
const DENIED =
  /\b(?:not|never|neither|nor|no|none|nothing|without|cannot|unable|(?:is|are|was|do|does|did|has|have|ca|wo)nt|will|when|once|until|unless|if|almost|nearly|hardly|barely|partially|partly|half|far)\b|n['’]t\b|['’]ll\b/iu;
/** Right before it: "to be DONE", "to COMPLETE it", "75% COMPLETE". */
const UNFINISHED = /(?:\bto(?: be| get)?|(?<!100(?:\.0+)?\s?)%)\s*$/iu;
/** Right after it: "DONE yet?", "DONE: no". */
const UNSURE = /^[^.,;:!?()\n–—-]{0,30}\?|^\s*[:=]\s*(?:no|false|not(?: yet)?)\s*(?:[.,;!\n]|$)/iu;

/** How an agent reports that it is done: derived once from its definition, not from its answers. */
export type CompletionRule = {
  readonly completion: Completion;
  /** The completion flag of the output schema, if it has one. */
  readonly flag: string | null;
  /** The instructions ask for the word DONE or COMPLETE. */
  readonly asksForSignal: boolean;
};

export function completionRule(
  completion: Completion,
  instructions: string,
  outputSchema: JsonObject | null,
): CompletionRule {
  const properties = outputSchema?.properties;
  const flag = isJsonObject(properties) ? FLAGS.find((name) => canBeBoolean(properties[name])) : undefined;
  return { completion, flag: flag ?? null, asksForSignal: instructions.search(SIGNAL) !== -1 };
}

/** Excludes, for example, a list called `done`. A schema without a type (a union, a constant) may be boolean. */
function canBeBoolean(schema: Json | undefined): boolean {
  return isJsonObject(schema) && (schema.type === undefined || [schema.type].flat().includes("boolean"));
}

/** True if the agent reports that it is done. A turn with tool calls is not an answer yet. */
export function isTurnComplete(rule: CompletionRule, turn: CompletedTurn): boolean {
  if (typeof rule.completion === "function") {
    const isComplete: unknown = rule.completion(turn);
    if (typeof isComplete === "boolean") return isComplete;
    throw new TypeError(`The completion predicate returned ${typeof isComplete}: return true or false.`);
  }
  if (turn.toolCalls.length > 0) return false;
  switch (rule.completion) {
    case "answer":
      return true;
    case "signal":
      return flagValue(rule, turn) ?? saysDone(turn.text);
    case "auto":
      if (rule.flag !== null) return flagValue(rule, turn) ?? false;
      return rule.asksForSignal ? saysDone(turn.text) : true;
  }
}

/** The facts about an answer without tool calls. */
export type AnswerFacts = {
  /** The agent reports that it is done. */
  readonly isComplete: boolean;
  /** What is wrong with the answer, in a sentence for the model. */
  readonly problem: string | null;
  /** It was cut off at the limit of output tokens. */
  readonly isCut: boolean;
};

export type AnswerDecision =
  | { readonly kind: "final" }
  /** The model is asked again, with this message. */
  | { readonly kind: "ask"; readonly followUp: string }
  /** Asking for a shorter answer did not help. */
  | { readonly kind: "cut_again" };

/**
 * Decides whether an answer is the agent's last. One that was cut off is not. The model is asked once for a shorter, whole
 * answer, since the missing rest alone would be no valid output either. `before` is the previous answer, if there is one.
 */
export function decideAnswer(
  answer: AnswerFacts,
  before: AnswerFacts | null,
  maxOutputTokens: number,
): AnswerDecision {
  const { isComplete, problem } = answer;
  if (isCutAnswer(answer)) {
    if (before !== null && isCutAnswer(before)) return { kind: "cut_again" };
    const what = `Your answer was cut off: it reached the limit of ${maxOutputTokens} output tokens.`;
    return { kind: "ask", followUp: `${what} Answer again, whole and in fewer words.` };
  }
  if (problem !== null) return { kind: "ask", followUp: problem };
  return isComplete ? { kind: "final" } : { kind: "ask", followUp: "Continue." };
}

/** An agent that does not report to be done may have been cut off in the middle of its work: it just continues. */
function isCutAnswer({ isComplete, problem, isCut }: AnswerFacts): boolean {
  return isCut && (isComplete || problem !== null);
}

/** A structured `false` overrides any word in the text. */
function flagValue(rule: CompletionRule, turn: CompletedTurn): boolean | undefined {
  if (rule.flag === null || !isJsonObject(turn.output)) return undefined;
  const value = turn.output[rule.flag];
  return typeof value === "boolean" ? value : undefined;
}

/**
 * True if the text claims at least once that the work is done. In unclear cases it is false: another turn costs less than
 * unfinished work.
 */
export function saysDone(text: string): boolean {
  for (const { 0: signal, index } of text.matchAll(SIGNAL)) {
    const end = index + signal.length;
    const before = text.slice(Math.max(0, index - CLAUSE_LENGTH), index).replace(MARKUP, "");
    const after = text.slice(end, end + CLAUSE_LENGTH).replace(MARKUP, "");
    const clause = before.split(CLAUSE_END).at(-1) ?? "";
    if (!DENIED.test(clause) && !UNFINISHED.test(clause) && !UNSURE.test(after)) return true;
  }
  return false;
}
