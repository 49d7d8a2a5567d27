import type { TranscriptDocument, TranscriptItem } from "./transcript-content.ts";

/** What is known of a transcript: a part without gaps, up to its newest item or a place before it. */
export type KnownTranscript = {
  readonly items: readonly TranscriptItem[];
  /** The cursor of what is before; null at the beginning. */
  readonly before: string | null;
  /** The cursor of what comes after. */
  readonly after: string | null;
};

/** The page before what is known. */
export function withEarlier(known: KnownTranscript, page: TranscriptDocument): KnownTranscript {
  const has = new Set(known.items.map(({ id }) => id));
  const earlier = page.items.filter(({ id }) => !has.has(id));
  return { ...known, items: [...earlier, ...known.items], before: page.before };
}

/**
 * The newest page over what is known: items that are in both are as they are now, since calls and waits change after they
 * were written. Null if there is a gap between the two, so that what is in between has to be read first.
 */
export function withNewest(known: KnownTranscript, page: TranscriptDocument): KnownTranscript | null {
  const has = new Set(known.items.map(({ id }) => id));
  if (known.items.length > 0 && page.before !== null && !page.items.some(({ id }) => has.has(id)))
    return null;
  const newer = new Map(page.items.map((item) => [item.id, item]));
  const kept = known.items.map((item) => newer.get(item.id) ?? item);
  const added = page.items.filter(({ id }) => !has.has(id));
  return {
    items: [...kept, ...added],
    before: known.items.length === 0 ? page.before : known.before,
    after: page.after,
  };
}

/** The page after what is known. */
export function withLater(known: KnownTranscript, page: TranscriptDocument): KnownTranscript {
  const has = new Set(known.items.map(({ id }) => id));
  return {
    ...known,
    items: [...known.items, ...page.items.filter(({ id }) => !has.has(id))],
    after: page.after,
  };
}

/** Several items that are shown as one line until they are opened. */
export type TranscriptRow =
  | { readonly kind: "item"; readonly id: string; readonly item: TranscriptItem }
  | { readonly kind: "abandoned"; readonly id: string; readonly items: readonly TranscriptItem[] };

/** The rows of a transcript: turns that a later lineage has given up are folded. */
export function rowsOf(
  items: readonly TranscriptItem[],
  opened: ReadonlySet<string>,
): readonly TranscriptRow[] {
  const rows: TranscriptRow[] = [];
  let folded: TranscriptItem[] = [];
  const fold = (): void => {
    const [first] = folded;
    if (first === undefined) return;
    const id = `abandoned ${first.id}`;
    if (opened.has(id)) rows.push({ kind: "abandoned", id, items: [] });
    rows.push(
      ...(opened.has(id)
        ? folded.map((item) => ({ kind: "item" as const, id: item.id, item }))
        : [{ kind: "abandoned" as const, id, items: folded }]),
    );
    folded = [];
  };
  for (const item of items) {
    if (item.isAbandoned) folded.push(item);
    else {
      fold();
      rows.push({ kind: "item", id: item.id, item });
    }
  }
  fold();
  return rows;
}

/** The row of an address: an item by its id, or the answer of a turn by `turn:step#3`. */
export function rowAt(rows: readonly TranscriptRow[], at: string): number {
  return rows.findIndex((row) => {
    if (row.kind !== "item") return false;
    const { id, kind, step, turn } = row.item;
    return id === at || (kind === "assistant" && at === `turn:${step ?? ""}#${turn ?? ""}`);
  });
}
