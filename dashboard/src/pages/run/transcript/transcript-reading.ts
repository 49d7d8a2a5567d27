import type { TranscriptDocument } from "./transcript-content.ts";
import { type KnownTranscript, withEarlier, withLater, withNewest } from "./transcript-pages.ts";

export const PAGE = 50;
const AT_ONCE = 200;

export type TranscriptPlace = { readonly limit: number; readonly before?: string; readonly after?: string };

export type ReadPage = (place: TranscriptPlace) => Promise<TranscriptDocument>;
/** Earlier pages may be read meanwhile. */
type Known = () => KnownTranscript;
type Learn = (known: KnownTranscript) => void;

/** Reads the newest page over what is known, and what is between the two first. */
export async function readNewest(known: Known, read: ReadPage, learn: Learn): Promise<void> {
  const newest = await read({ limit: PAGE });
  let joined = withNewest(known(), newest);
  while (joined === null) {
    const { after } = known();
    const page = await read({ limit: AT_ONCE, ...(after === null ? {} : { after }) });
    learn(withLater(known(), page));
    joined = withNewest(known(), newest);
    if (page.items.length === 0) break;
  }
  if (joined !== null) learn(joined);
}

/** Reads as far back as is known, and forgets what was: the reader keeps the place, and every item is as it is stored. */
export async function readAgain(known: Known, read: ReadPage, learn: Learn): Promise<void> {
  const newest = await read({ limit: PAGE });
  let again: KnownTranscript = { items: newest.items, before: newest.before, after: newest.after };
  while (again.before !== null && again.items.length < known().items.length)
    again = withEarlier(again, await read({ limit: AT_ONCE, before: again.before }));
  learn(again);
}
