/**
 * A lineage after the first one: it begins at `firstTurn`, with an empty history, and continues from the work of the turns
 * up to `baseTurn`. The first lineage has no entry.
 */
export type Lineage = { readonly firstTurn: number; readonly baseTurn: number };

/**
 * True if a turn counts in the current lineage: it belongs to it, or to the part of an earlier lineage that the current one
 * continues from. All other turns were abandoned.
 */
export function isKept(lineages: readonly Lineage[], turnIndex: number): boolean {
  let reach = Number.POSITIVE_INFINITY;
  for (const { firstTurn, baseTurn } of lineages.toReversed()) {
    // A lineage that begins after the last turn that counts was abandoned before.
    if (firstTurn > reach) continue;
    if (turnIndex >= firstTurn) return turnIndex <= reach;
    reach = baseTurn;
  }
  return turnIndex <= reach;
}
