import { type ReactNode, useMemo, useRef, useState } from "react";
import { useKeys } from "../../../browser/keyboard.ts";
import { useNow } from "../../../live/use-now.ts";
import { EmptyState } from "../../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import { Inspector } from "../inspector.tsx";
import { useRunParams } from "../run-params.ts";
import { fetchedWindow } from "./fetched-window.ts";
import { foldedGaps, openGap } from "./gap-folding.ts";
import { filterChoices, standsOut } from "./slice-filter.ts";
import { inOrder, nextSlice } from "./slice-order.ts";
import { type Selected, SlicePanel } from "./slice-panel.tsx";
import { TimeAxis } from "./time-axis.tsx";
import { growingEnd, timeAt, timeScale, unitAt } from "./time-scale.ts";
import { bandsOf, lifeStretch } from "./timeline-bands.ts";
import type { Timeline } from "./timeline-documents.ts";
import { TimelineDrawing } from "./timeline-drawing.tsx";
import { marksIn } from "./timeline-marks.ts";
import { type Frame, shapesIn } from "./timeline-shapes.ts";
import { TimelineTable } from "./timeline-table.tsx";
import { TimelineTools } from "./timeline-tools.tsx";
import { useSize } from "./use-size.ts";
import { useTimelineWindow, useWholeTimeline } from "./use-timeline.ts";
import { useView } from "./use-view.ts";
import { useZoom } from "./use-zoom.ts";
import { panned, showing, zoomed } from "./view-window.ts";

/** What happened when, and in whose hands the run was. */
export function TimelineView({ runId }: { readonly runId: string }): ReactNode {
  const whole = useWholeTimeline(runId);
  if (whole.data === undefined) {
    if (whole.error === null) return null;
    return (
      <ProblemNotice
        error={whole.error}
        what="The timeline could not be read."
        since={whole.errorUpdatedAt}
        onRetry={() => void whole.refetch()}
      />
    );
  }
  if (whole.data.lives.length === 0) {
    return (
      <EmptyState title="No worker has taken this run yet." command="pawl worker">
        Its timeline begins when one does.
      </EmptyState>
    );
  }
  return <TimelineOf runId={runId} whole={whole.data} />;
}

function TimelineOf({ runId, whole }: { readonly runId: string; readonly whole: Timeline }): ReactNode {
  const [params, change] = useRunParams();
  const now = useNow();
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const scroller = useRef<HTMLDivElement>(null);
  const size = useSize(scroller);
  const scale = useScale(whole, unfolded, now);
  const [view, setView] = useView(scale, whole.from);
  const seen = { from: timeAt(scale, view.start), to: timeAt(scale, view.end) };
  const window = useTimelineWindow(runId, fetchedWindow(seen, size.width, whole.minMs)) ?? whole;
  const { bands, height } = bandsOf(whole, window, seen, now);
  const lifeBands = bands.filter((band) => band.kind === "life");
  const frame: Frame = {
    scale,
    view,
    width: size.width,
    top: size.top - 200,
    bottom: size.top + size.height + 300,
    now,
  };
  const { show } = params;
  const ordered = useMemo(
    () => inOrder(window.slices.filter((slice) => standsOut(show, slice, slice.isCut))),
    [window, show],
  );
  const [isSheetOpen, setSheetOpen] = useState(params.at !== null);
  const select = (at: string | null, opensSheet = true): void => {
    setSheetOpen(at !== null && opensSheet);
    change({ at }, { replace: true });
  };
  const { wasDragged, ...drag } = useZoom(scroller, { view, length: scale.length, onView: setView });
  const unfold = (at: number): void => {
    if (!wasDragged()) setUnfolded(new Set([...unfolded, at]));
  };
  const move = (by: 1 | -1): void => {
    const slice = nextSlice(ordered, params.at, by, seen);
    if (slice === undefined) return;
    select(slice.id, false);
    setView(showing(view, unitAt(scale, slice.start), unitAt(scale, slice.end), scale.length));
  };
  const zoom = (factor: number): void => setView(zoomed(view, factor, 0.5, scale.length));
  useKeys([
    { keys: "+", does: "Zoom in", run: () => zoom(1.6) },
    { keys: "-", does: "Zoom out", run: () => zoom(1 / 1.6) },
    { keys: "0", does: "Show all of the run", run: () => setView(null) },
    { keys: "ArrowLeft", does: "Earlier", run: () => setView(panned(view, -0.25, scale.length)) },
    { keys: "ArrowRight", does: "Later", run: () => setView(panned(view, 0.25, scale.length)) },
    { keys: "j", does: "Next slice", run: () => move(1) },
    { keys: "k", does: "Slice before", run: () => move(-1) },
    { keys: "Enter", does: "Open the selected slice", run: () => setSheetOpen(params.at !== null) },
    ...(params.at === null
      ? []
      : [{ keys: "Escape", does: "Close the selected slice", run: () => select(null) }]),
  ]);
  const selected = selectedIn(params.at, window, whole);
  return (
    <div className="flex min-w-0 items-start gap-3">
      <section aria-label="Timeline" className="min-w-0 flex-1 rounded-lg border border-line bg-canvas">
        <TimelineTools
          show={show}
          choices={filterChoices(whole.slices, show)}
          onShow={(choice) => change({ show: choice })}
          isTable={params.table}
          onTable={(table) => change({ table })}
          onZoom={zoom}
          onFit={() => setView(null)}
          folded={unfolded.size > 0 ? () => setUnfolded(new Set()) : null}
          leftOut={whole.livesLeftOut + whole.waitsLeftOut}
        />
        {params.table && (
          <TimelineTable
            timeline={window}
            ordered={ordered}
            selected={params.at}
            now={now}
            onSelect={select}
          />
        )}
        <div
          ref={scroller}
          className={`relative max-h-[68dvh] min-h-40 touch-pan-y overflow-x-hidden overflow-y-auto ${params.table ? "hidden" : ""}`}
          {...drag}
        >
          {size.width > 0 && (
            <>
              <div className="sticky top-0 z-10 border-b border-line bg-panel">
                <TimeAxis frame={frame} onUnfold={unfold} />
              </div>
              <TimelineDrawing
                frame={frame}
                height={height}
                bands={bands}
                shapes={shapesIn(lifeBands, [...window.slices, ...window.merged], frame)}
                marks={marksIn(lifeBands, window.marks, frame)}
                selected={params.at}
                show={show}
                onSelect={(id) => !wasDragged() && select(id)}
                onUnfold={unfold}
                onZoomTo={({ x, width }) => {
                  const middle = (x + width / 2) / size.width;
                  if (!wasDragged())
                    setView(zoomed(view, Math.min(40, size.width / (width * 3)), middle, scale.length));
                }}
              />
            </>
          )}
        </div>
      </section>
      {selected !== null && (
        <Inspector title={selected.title} isOpen={isSheetOpen} onClose={() => select(null)}>
          <SlicePanel runId={runId} selected={selected} />
        </Inspector>
      )}
    </div>
  );
}

/** Lives that are folded apart are those of the whole run: what is seen of it must not change where things are. */
function useScale(whole: Timeline, unfolded: ReadonlySet<number>, now: number) {
  const lives = useMemo(() => whole.lives.map(lifeStretch), [whole]);
  const isOpen = !whole.isLive && whole.waits.some(({ end }) => end === null);
  const end = whole.isLive ? growingEnd(whole.from, now) : isOpen ? Math.max(whole.to, now) : whole.to;
  return useMemo(() => {
    const open = isOpen ? openGap(lives, end) : null;
    const folds = [...foldedGaps(lives), ...(open === null ? [] : [open])];
    const first = Math.min(whole.from, ...lives.slice(0, 1).map(({ from }) => from));
    return timeScale(
      { from: first, to: end },
      folds.filter(({ from }) => !unfolded.has(from)),
    );
  }, [whole, lives, unfolded, isOpen, end]);
}

function selectedIn(at: string | null, window: Timeline, whole: Timeline): Selected | null {
  if (at === null) return null;
  const slice = [...window.slices, ...whole.slices].find(({ id }) => id === at);
  if (slice !== undefined) return { kind: "slice", title: slice.name, slice };
  const wait = [...window.waits, ...whole.waits].find(({ waitId }) => waitId === at);
  return wait === undefined ? null : { kind: "wait", title: "Wait", wait };
}
