import { type Json, MAX_PAYLOAD_DEPTH } from "../json.ts";
import { sizeOf } from "../json-schema-check.ts";

// How much a model may answer at once. What is taken is journaled, and read again by every process that resumes the run, so
// that nobody takes more than can be read without a pause.

const MAX_CALLS = 128;
/** Four times of what the longest answers of models have. */
const MAX_CHARACTERS = 2_000_000;
/** In the arguments of all calls together: they are hashed, searched for secrets and written, each time all of them. */
const MAX_ARGUMENT_VALUES = 8_000;
/** In an answer that is JSON, which is only held against its schema. */
export const MAX_ANSWER_VALUES = 50_000;

/** A part of an answer; arguments may still be JSON text, as providers send them. */
type AnswerContentPart = {
  readonly type: string;
  readonly text?: unknown;
  readonly toolName?: unknown;
  readonly input?: unknown;
};

/** What is too much in an answer, as the end of a sentence that begins with the model; null where nothing is. */
export function excessIn(content: readonly AnswerContentPart[]): string | null {
  const calls = content.filter(({ type }) => type === "tool-call");
  if (calls.length > MAX_CALLS)
    return `asked for ${calls.length} tool calls at once, and ${MAX_CALLS} is the most`;
  let characters = 0;
  let values = 0;
  for (const { text, toolName, input } of content) {
    for (const each of [text, toolName, input]) if (typeof each === "string") characters += each.length;
    if (characters > MAX_CHARACTERS)
      return `answered with more than ${MAX_CHARACTERS} characters, which is the most`;
    // What lies deeper is cut, and the model is told of that.
    const size = sizeOf(argumentsOf(input), MAX_ARGUMENT_VALUES - values, { levels: MAX_PAYLOAD_DEPTH });
    if (size === null)
      return `asked for calls with more than ${MAX_ARGUMENT_VALUES} values in their arguments, which is the most`;
    values += size;
  }
  return null;
}

/** Of a text too short to have too many values nothing has to be read. */
function argumentsOf(input: unknown): Json {
  if (typeof input !== "string") return (input ?? null) as Json;
  if (input.length < MAX_ARGUMENT_VALUES / 4) return null;
  try {
    return JSON.parse(input) as Json;
  } catch {
    return null;
  }
}
