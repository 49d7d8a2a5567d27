/**
 * A line of history after the first one: it begins at `firstTurn`, with an empty history, and goes on from the work of the
 * turns up to `baseTurn`. The first line has no entry.
 */
export type Lineage = { readonly firstTurn: number; readonly baseTurn: number };

/**
 * Whether what a turn did counts in the present line: the turn belongs to it, or to the part of an earlier line that it
 * goes on from. All other turns were abandoned.
 */
export function isKept(lineages: readonly Lineage[], turnIndex: number): boolean {
  let reach = Number.POSITIVE_INFINITY;
  for (const { firstTurn, baseTurn } of lineages.toReversed()) {
    // A line that begins after what is reached from here was left behind before.
    if (firstTurn > reach) continue;
    if (turnIndex >= firstTurn) return turnIndex <= reach;
    reach = baseTurn;
  }
  return turnIndex <= reach;
}
