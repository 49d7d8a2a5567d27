import { redact } from "../../core/redaction.ts";
import type { ToolCallContext } from "../../engine/tool.ts";
import { causesOf } from "../error-causes.ts";

type Execute<I, O> = (input: I, call: ToolCallContext) => Promise<O>;

/** Shorter texts may well be part of something else. */
const LEAST_LENGTH = 8;

/** What is not to be said anywhere: each text, and its words, since `Bearer …` may be sent back without its first. */
export function secretTexts(texts: readonly string[]): readonly string[] {
  const all = texts.flatMap((text) => [text, ...text.split(/\s+/)]);
  return [...new Set(all)].filter((text) => text.length >= LEAST_LENGTH);
}

/** The text without these. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return redact(text, new Set(), secrets) as string;
}

/**
 * The same work, except that no error of it says a secret of the tool's settings: the run has not met those, and a server may
 * well send back what it was given.
 */
export function hidingSecrets<I, O>(secrets: readonly string[], execute: Execute<I, O>): Execute<I, O> {
  if (secrets.length === 0) return execute;
  return (input, call) => hidingInErrors(secrets, () => execute(input, call));
}

/** Does the work. What it throws says none of these texts, nor does what caused that. */
export async function hidingInErrors<T>(secrets: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    for (const each of causesOf(error)) if (each instanceof Error) hideInError(secrets, each);
    throw error;
  }
}

function hideInError(secrets: readonly string[], error: Error): void {
  for (const field of ["message", "stack"] as const) {
    const text = error[field];
    if (typeof text !== "string") continue;
    const value = withoutSecrets(text, secrets);
    // Defined, for what the platform throws has fields that cannot be assigned to.
    if (value !== text) Object.defineProperty(error, field, { value, writable: true, configurable: true });
  }
}
