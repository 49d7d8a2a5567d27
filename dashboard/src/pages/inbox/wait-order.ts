/** The wait to look at next. One that was answered has left the list: its place was `lastIndex`, and the next one has it now. */
export function neighbour(
  ids: readonly string[],
  at: string | null,
  lastIndex: number,
  by: 1 | -1,
): string | undefined {
  const from = at === null ? -1 : ids.indexOf(at);
  const to = from === -1 && at !== null ? lastIndex + Math.min(0, by) : from + by;
  return ids[Math.min(ids.length - 1, Math.max(0, to))];
}

/**
 * By how many rows the list has moved under a reader whose window begins with the row `first`, because rows above it left or
 * came. If that row itself has left, what counts is the first one below it that is still there.
 */
export function rowsMoved(before: readonly string[], after: readonly string[], first: number): number {
  const places = new Map(after.map((id, place) => [id, place]));
  for (const [below, id] of before.slice(first).entries()) {
    const place = places.get(id);
    if (place !== undefined) return place - (first + below);
  }
  return 0;
}

/** How many there are: `total` is what the server counts, null if it counts others too. */
export function listedWords(listed: number, hasMore: boolean, total: number | null): string {
  const count = hasMore && total !== null && total > listed ? total : listed;
  return `${count.toLocaleString("en-US")}${hasMore && count === listed ? "+" : ""}`;
}
