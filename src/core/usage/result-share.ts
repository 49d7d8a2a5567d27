/** How many tokens of the results of one turn the model is shown. */
export type ResultLimits = { readonly each: number; readonly together: number };

/** What every result may have, however many there are: room for a sentence that says that it was cut. */
export const MIN_RESULT_TOKENS = 48;

/** Of all results of a turn: half of the view, so that the turns before it are not all pushed out by one. */
const TURN_SHARE = 2;
/** Of one result, unless the agent or the step says otherwise. */
const RESULT_SHARE = 3;

export function defaultResultTokens(historyMaxTokens: number): number {
  return Math.max(1, Math.floor(historyMaxTokens / RESULT_SHARE));
}

/** One result may have all that was said for one, even where that is more than half of the view. */
export function resultLimits(historyMaxTokens: number, maxResultTokens: number): ResultLimits {
  const together = Math.max(maxResultTokens, Math.floor(historyMaxTokens / TURN_SHARE));
  return { each: maxResultTokens, together };
}

/** For readers that want results as they are. */
export const WHOLE_RESULTS: ResultLimits = {
  each: Number.MAX_SAFE_INTEGER,
  together: Number.MAX_SAFE_INTEGER,
};

/**
 * How many tokens of each result are shown: small ones whole, and the large ones an equal share of what those leave. It
 * looks at counts alone, so that what a turn takes up is known before its results are read.
 */
export function shareOut(tokens: readonly number[], { each, together }: ResultLimits): readonly number[] {
  const shares = tokens.map((wanted) => Math.min(wanted, Math.max(MIN_RESULT_TOKENS, each)));
  const bySize = shares.map((wanted, index) => ({ wanted, index })).sort((a, b) => a.wanted - b.wanted);
  let room = together;
  bySize.forEach(({ wanted, index }, given) => {
    const share = Math.max(MIN_RESULT_TOKENS, Math.floor(room / (bySize.length - given)));
    shares[index] = Math.min(wanted, share);
    room -= Math.min(wanted, share);
  });
  return shares;
}
