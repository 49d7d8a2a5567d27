import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef } from "react";
import type { WaitPages } from "./use-wait-pages.ts";
import { WAIT_ROW_PX, WaitRow } from "./wait-list.tsx";
import { rowsMoved } from "./wait-order.ts";

/** Rows above and below the window. */
const OVERSCAN = 8;

type OpenWaitsProps = { readonly list: WaitPages; readonly at: string | null };

/** The open waits that are in the window. All others are only a height. The next page is read before its rows are reached. */
export function OpenWaits({ list, at }: OpenWaitsProps): ReactNode {
  const { waits, hasMore } = list;
  const body = useRef<HTMLDivElement>(null);
  const ids = useMemo(() => waits.map(({ waitId }) => waitId), [waits]);
  const rows = useWindowVirtualizer({
    count: waits.length,
    estimateSize: () => WAIT_ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: body.current?.offsetTop ?? 0,
    scrollPaddingStart: 96,
    scrollPaddingEnd: 64,
    getItemKey: (index) => ids[index] ?? index,
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= waits.length - OVERSCAN) list.loadMore();
  });
  useStillRows(ids, rows);
  // Only the reader's choice scrolls: a list that changes stays where it is.
  const chosen = useRef<string | null>(null);
  useEffect(() => {
    if (chosen.current === at) return;
    chosen.current = at;
    const place = at === null ? -1 : ids.indexOf(at);
    if (place !== -1) rows.scrollToIndex(place, { align: "auto" });
  });
  const start = (items[0]?.start ?? 0) - rows.options.scrollMargin;
  return (
    <div
      ref={body}
      className="overflow-hidden rounded-lg border border-line bg-panel"
      style={{ height: rows.getTotalSize() + BORDERS_PX }}
    >
      <ul aria-label="Open waits" style={{ transform: `translateY(${start}px)` }}>
        {items.map(({ index, key }) => {
          const wait = waits[index];
          const place = { "aria-posinset": index + 1, "aria-setsize": hasMore ? -1 : waits.length };
          return (
            wait !== undefined && <WaitRow key={key} wait={wait} isAt={wait.waitId === at} place={place} />
          );
        })}
      </ul>
    </div>
  );
}

const BORDERS_PX = 2;

/**
 * Keeps the rows that are being read where they are, when waits above them are answered. The place of the window is the one
 * before the change: a page that became shorter has moved it.
 */
function useStillRows(
  ids: readonly string[],
  { scrollOffset, options }: Pick<ReturnType<typeof useWindowVirtualizer>, "scrollOffset" | "options">,
): void {
  const known = useRef(ids);
  const offset = scrollOffset ?? 0;
  const first = Math.floor((offset - options.scrollMargin) / WAIT_ROW_PX);
  useLayoutEffect(() => {
    const before = known.current;
    known.current = ids;
    const moved = before === ids || first < 0 ? 0 : rowsMoved(before, ids, first);
    if (moved !== 0) scrollTo({ top: offset + moved * WAIT_ROW_PX, behavior: "instant" });
  });
}
