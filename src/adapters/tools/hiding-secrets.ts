import { type Secret, secret } from "../../core/secret.ts";

/** Shorter texts may well be part of something else. */
const LEAST_LENGTH = 8;

/** What is not to be said anywhere: each text, and its words, since `Bearer …` may be sent back without its first. */
export function secretTexts(texts: readonly string[]): readonly string[] {
  const all = texts.flatMap((text) => [text, ...text.split(/\s+/)]);
  return [...new Set(all)].filter((text) => text.length >= LEAST_LENGTH);
}

/** The same as the `secrets` of a tool. */
export function settingSecrets(texts: readonly string[]): readonly Secret[] {
  return secretTexts(texts).map(secret);
}
