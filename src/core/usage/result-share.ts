/** How many tokens of the results of one turn the model sees: of each result, and of all together. */
export type ResultLimits = { readonly each: number; readonly together: number };

/** Every result gets at least this much, however many there are: room for a sentence that says that it was cut. */
export const MIN_RESULT_TOKENS = 48;

/** All results of a turn together get half of the view, so that one turn does not push out all earlier ones. */
const TURN_SHARE = 2;
/** One result gets a third of the view by default. */
const RESULT_SHARE = 3;

export function defaultResultTokens(historyMaxTokens: number): number {
  return Math.max(1, Math.floor(historyMaxTokens / RESULT_SHARE));
}

/** One result may use all of `maxResultTokens`, even if that is more than half of the view. */
export function resultLimits(historyMaxTokens: number, maxResultTokens: number): ResultLimits {
  const together = Math.max(maxResultTokens, Math.floor(historyMaxTokens / TURN_SHARE));
  return { each: maxResultTokens, together };
}

/** No limits, for readers that need whole results. */
export const WHOLE_RESULTS: ResultLimits = {
  each: Number.MAX_SAFE_INTEGER,
  together: Number.MAX_SAFE_INTEGER,
};

/**
 * The number of tokens to show of each result: small ones are shown whole, and the large ones share the rest equally. It
 * needs counts only, so that the size of a turn is known before its results are read.
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
