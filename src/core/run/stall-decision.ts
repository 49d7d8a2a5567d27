/** The most workers that may die in a run, one after the other, without a commit. */
export const MAX_STALLS = 5;

/**
 * Events that show progress of a run. A worker that opens a model call and dies has made none, however often it does so:
 * nothing of its work is kept.
 */
const PROGRESS: ReadonlySet<string> = new Set([
  "step.finished",
  "step.skipped",
  "loop.decided",
  "turn.journaled",
  "turn.committed",
  "exchange.ended",
  "turn.dropped",
  "call.receipt",
  "lineage.begun",
  "artifact.kept",
  "wait.answered",
]);

export function isProgress(eventType: string): boolean {
  return PROGRESS.has(eventType);
}

/**
 * The number of workers in a row that died in the run, once this claim has found that the last one did, or did not. One
 * that gave the run back in good order does not count: interruptions are free, lack of progress is not.
 */
export function stallsAfter(
  stalls: number,
  { hasDied, hasProgressed }: { readonly hasDied: boolean; readonly hasProgressed: boolean },
): number {
  if (hasProgressed) return 0;
  return hasDied ? stalls + 1 : stalls;
}
