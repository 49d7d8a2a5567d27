import { redact } from "../../core/redaction.ts";
import type { ToolCallContext } from "../../engine/tool.ts";

type Execute<I, O> = (input: I, call: ToolCallContext) => Promise<O>;

/** Shorter texts may well be part of something else. */
const LEAST_LENGTH = 8;

/** What is not to be said anywhere: each text, and its words, since `Bearer …` may be sent back without its first. */
export function secretTexts(texts: readonly string[]): readonly string[] {
  const all = texts.flatMap((text) => [text, ...text.split(/\s+/)]);
  return [...new Set(all)].filter((text) => text.length >= LEAST_LENGTH);
}

/**
 * The same work, except that no error of it says a secret of the tool's settings: the run has not met those, and a server may
 * well send back what it was given.
 */
export function hidingSecrets<I, O>(secrets: readonly string[], execute: Execute<I, O>): Execute<I, O> {
  if (secrets.length === 0) return execute;
  return async (input, call) => {
    try {
      return await execute(input, call);
    } catch (error) {
      if (error instanceof Error) error.message = redact(error.message, new Set(), secrets) as string;
      throw error;
    }
  };
}
