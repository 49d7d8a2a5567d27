import { type Json, MAX_PAYLOAD_DEPTH } from "../json.ts";
import { sizeOf } from "../json-schema-check.ts";

// Limits on the size of one model answer. An accepted answer is journaled, and read again by every process that resumes the
// run, so none may be larger than what can be read without blocking for long.

const MAX_CALLS = 128;
/** Four times the length of the longest answers of models. */
export const MAX_ANSWER_CHARACTERS = 2_000_000;
/** In the arguments of all calls together: all of them are hashed, searched for secrets and written each time. */
const MAX_ARGUMENT_VALUES = 8_000;
/** In an answer that is JSON, which is only checked against its schema. */
export const MAX_ANSWER_VALUES = 50_000;

/** A part of an answer; the arguments may still be JSON text, as providers send them. */
type AnswerContentPart = {
  readonly type: string;
  readonly text?: unknown;
  readonly toolName?: unknown;
  readonly input?: unknown;
};

/** The limit that an answer exceeds, as the end of a sentence whose subject is the model; null if there is none. */
export function excessIn(content: readonly AnswerContentPart[]): string | null {
  const calls = content.filter(({ type }) => type === "tool-call");
  if (calls.length > MAX_CALLS)
    return `asked for ${calls.length} tool calls at once, and the limit is ${MAX_CALLS}`;
  let characters = 0;
  let values = 0;
  for (const { text, toolName, input } of content) {
    for (const each of [text, toolName, input]) if (typeof each === "string") characters += each.length;
    if (characters > MAX_ANSWER_CHARACTERS)
      return `answered with more than ${MAX_ANSWER_CHARACTERS} characters, which is the limit of one answer`;
    // Deeper values are cut later, with a note for the model.
    const size = sizeOf(argumentsOf(input), MAX_ARGUMENT_VALUES - values, { levels: MAX_PAYLOAD_DEPTH });
    if (size === null)
      return `asked for calls with more than ${MAX_ARGUMENT_VALUES} values in their arguments, which is the limit of one answer`;
    values += size;
  }
  return null;
}

/** A text that is too short to have too many values need not be parsed. */
function argumentsOf(input: unknown): Json {
  if (typeof input !== "string") return (input ?? null) as Json;
  if (input.length < MAX_ARGUMENT_VALUES / 4) return null;
  try {
    return JSON.parse(input) as Json;
  } catch {
    return null;
  }
}
