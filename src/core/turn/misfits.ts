/** An answer that did not fit the output schema of its agent, or arguments that did not fit those of their tool. */
export type Misfit = {
  /** The tool that was called; null for an answer. */
  readonly tool: string | null;
  /** What did not fit, with its path in the schema. */
  readonly problem: string;
  /** What the model sent. */
  readonly given: string;
};

/** The misfits of the last turn, each with the number of turns in a row that had one like it. */
export type MisfitStreaks = readonly { readonly last: Misfit; readonly turns: number }[];

/** After this many misfits in a row the model is not asked again: each one is paid for, and more would not help. */
export const MAX_MISFITS = 3;

/** The streaks after a turn with these misfits, of which each is for another tool or for the answer. */
export function streaksAfter(before: MisfitStreaks, turn: readonly Misfit[]): MisfitStreaks {
  return turn.map((last) => {
    const known = before.find((streak) => streak.last.tool === last.tool);
    return { last, turns: (known?.turns ?? 0) + 1 };
  });
}

/**
 * The misfit that ends the run, if there is one: at 3 turns in a row, at 6, and so on. It depends on committed turns alone,
 * so a crash changes nothing, and a run that a person resumes gets 3 more tries.
 */
export function finalMisfit(streaks: MisfitStreaks): Misfit | null {
  return streaks.find(({ turns }) => turns % MAX_MISFITS === 0)?.last ?? null;
}
