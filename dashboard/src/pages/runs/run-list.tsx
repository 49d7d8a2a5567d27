import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import { navigate } from "wouter/use-browser-location";
import { useKeys } from "../../browser/keyboard.ts";
import { runPath } from "../../browser/places.ts";
import { useIsNarrow } from "../../browser/use-is-narrow.ts";
import { NARROW_ROW_PX, ROW_COLUMNS, RunRow, WIDE_ROW_PX } from "./run-row.tsx";
import type { RunList } from "./use-run-list.ts";

const HEADINGS = ["", "Status", "Run", "Pipeline", "Now", "Objective", "Changed", "Spent"] as const;
/** Rows above and below the window: at most 60 rows exist on a screen of 1,200 pixels. */
const OVERSCAN = 8;

type RunRowsProps = {
  readonly list: RunList;
  readonly maySelect: boolean;
  readonly at: string | null;
  readonly onAt: (runId: string) => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (runId: string, isSelected: boolean) => void;
};

/** The rows that are in the window. All others are only a height. */
export function RunRows({ list, maySelect, at, onAt, selected, onSelect }: RunRowsProps): ReactNode {
  const isNarrow = useIsNarrow();
  const body = useRef<HTMLDivElement>(null);
  const { heads } = list;
  const rowPx = isNarrow ? NARROW_ROW_PX : WIDE_ROW_PX;
  const rows = useWindowVirtualizer({
    count: heads.length,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin: body.current?.offsetTop ?? 0,
    scrollPaddingStart: 96,
    scrollPaddingEnd: 64,
    getItemKey: (index) => heads[index]?.runId ?? index,
  });
  useEffect(() => rows.measure(), [rows, rowPx]);
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= heads.length - OVERSCAN) list.loadMore();
  });
  const move = (by: number): void => {
    const from = heads.findIndex(({ runId }) => runId === at);
    const to = Math.min(heads.length - 1, Math.max(0, from + by));
    const head = heads[to];
    if (head === undefined) return;
    onAt(head.runId);
    rows.scrollToIndex(to, { align: "auto" });
  };
  useKeys([
    { keys: "j", does: "Next run", run: () => move(1) },
    { keys: "k", does: "Previous run", run: () => move(-1) },
    { keys: "Enter", does: "Open the run", run: () => at !== null && navigate(runPath(at)) },
    ...(maySelect
      ? [{ keys: "x", does: "Select the run", run: () => at !== null && onSelect(at, !selected.has(at)) }]
      : []),
  ]);
  const start = (items[0]?.start ?? 0) - rows.options.scrollMargin;
  return (
    <div role="table" aria-label="Runs" aria-rowcount={list.hasMore ? -1 : heads.length + 1}>
      <div role="rowgroup" className="border-b border-edge max-md:sr-only">
        <div role="row" className={`grid items-center gap-x-3 px-2 py-1 text-xs text-ink-3 ${ROW_COLUMNS}`}>
          {HEADINGS.map((heading) => (
            <span key={heading} role="columnheader" className={heading === "Changed" ? "text-right" : ""}>
              {heading === "" ? <span className="sr-only">Selected</span> : heading}
            </span>
          ))}
        </div>
      </div>
      <div ref={body} role="rowgroup" style={{ height: rows.getTotalSize() }}>
        <div role="presentation" style={{ transform: `translateY(${start}px)` }}>
          {items.map(({ index, key }) => {
            const head = heads[index];
            return (
              head !== undefined && (
                <RunRow
                  key={key}
                  fetched={head}
                  isAt={head.runId === at}
                  isSelected={selected.has(head.runId)}
                  maySelect={maySelect}
                  onSelect={onSelect}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}
