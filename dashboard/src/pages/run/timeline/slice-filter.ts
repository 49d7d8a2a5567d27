import type { Slice } from "./timeline-documents.ts";

const BAD = new Set(["failed", "in_doubt", "cancelled", "timed_out", "lost", "unknown", "aborted"]);

export function isBad({ outcome }: Pick<Slice, "outcome">): boolean {
  return outcome !== null && BAD.has(outcome);
}

const TROUBLE = "failed or cut off";
const WAITS = "waits";
const CALLS_OF = "calls of ";

/** What can stand out in a timeline. The choice in the address stays one of them, whatever is in the window. */
export function filterChoices(slices: readonly Slice[], chosen: string | null): readonly string[] {
  const tools = slices.filter(({ category }) => category === "tool").map(({ name }) => `${CALLS_OF}${name}`);
  return [...new Set([TROUBLE, WAITS, ...tools.sort(), ...(chosen === null ? [] : [chosen])])];
}

/** Whether a slice stands out. Of several that are drawn as one, null, it is not known which they are. */
export function standsOut(choice: string | null, slice: Slice | null, hasCut: boolean): boolean {
  if (choice === null) return true;
  if (choice === TROUBLE) return hasCut || (slice !== null && isBad(slice));
  return slice !== null && slice.category === "tool" && choice === `${CALLS_OF}${slice.name}`;
}
