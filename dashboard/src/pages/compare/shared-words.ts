import type { RunHead } from "../../api/documents.ts";
import type { Comparison } from "./use-comparison.ts";

type Heads = { readonly a: Pick<RunHead, "runId" | "pipeline" | "forkedFrom">; readonly b: Heads["a"] };

/** Runs of other pipelines with other inputs: their turns have nothing to do with each other. */
export function sharesNothing({ hasSameInput, samePrefix }: Comparison, { a, b }: Heads): boolean {
  return samePrefix === 0 && !hasSameInput && a.pipeline !== b.pipeline;
}

/** What two runs have in common, as a sentence. */
export function sharedWords({ hasSameInput }: Pick<Comparison, "hasSameInput">, { a, b }: Heads): string {
  if (b.forkedFrom === a.runId) return "b is a fork of a.";
  if (a.forkedFrom === b.runId) return "a is a fork of b.";
  if (a.forkedFrom !== null && a.forkedFrom === b.forkedFrom) return "Both are forks of the same run.";
  const pipeline = a.pipeline === b.pipeline ? "The same pipeline" : "Two pipelines";
  return `${pipeline}, with ${hasSameInput ? "the same input" : "another input"}.`;
}

/** `Turns 1–3 are the same.` */
export function prefixWords(samePrefix: number): string {
  return samePrefix === 1 ? "The first turn is the same." : `Turns 1–${samePrefix} are the same.`;
}
