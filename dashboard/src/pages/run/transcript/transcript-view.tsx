import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useKeys } from "../../../browser/keyboard.ts";
import { EmptyState } from "../../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import type { Run } from "../next/standing-words.ts";
import { useRunParams } from "../run-params.ts";
import { LiveAnswerView } from "./live-answer-view.tsx";
import { rowAt, rowsOf } from "./transcript-pages.ts";
import type { TranscriptState } from "./transcript-reader.ts";
import { TranscriptRowView } from "./transcript-row.tsx";
import { useLiveAnswer } from "./use-live-answer.ts";
import { useTranscript } from "./use-transcript.ts";

const NEAR_TOP_PX = 400;

/** The run as a conversation: the newest at the bottom, what is before it when it is scrolled to. */
export default function TranscriptView({ run }: { readonly run: Run }): ReactNode {
  const { runId, eventSeq, status } = run.head;
  const [{ at, raw }, change] = useRunParams();
  const transcript = useTranscript(runId, eventSeq);
  const { known, isRead, error, readEarlier, retry } = transcript;
  const live = useLiveAnswer(runId, status === "running");
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => rowsOf(known.items, opened), [known.items, opened]);
  const scroller = useRef<HTMLDivElement>(null);
  // Until the transcript has what was journaled of it.
  const hearsay =
    live === null ||
    known.items.some(
      ({ kind, step, turn }) => kind === "assistant" && step === live.step && turn === live.turn,
    )
      ? null
      : live;
  const list = useVirtualizer({
    count: rows.length + (hearsay === null ? 0 : 1),
    getScrollElement: () => scroller.current,
    getItemKey: (index) => rows[index]?.id ?? "live",
    estimateSize: () => 72,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: 80,
  });
  const hasRows = rows.length > 0;
  const target = at === null ? -1 : rowAt(rows, at);
  useEffect(() => {
    if (!hasRows) return;
    if (target !== -1) list.scrollToIndex(target, { align: "center" });
    else if (at === null) list.scrollToEnd();
    // Once it is there, and when another item is asked for; never because the run has grown.
  }, [list, hasRows, at, target === -1]);
  const isTargetEarlier = at !== null && target === -1 && isRead;
  useEffect(() => {
    if (isTargetEarlier) readEarlier();
    // Page by page.
  }, [isTargetEarlier, readEarlier, known.before]);
  useKeys([
    { keys: "r", does: "Show texts raw", run: () => change({ raw: !raw }, { replace: true }) },
    { keys: "j", does: "Down", run: () => scroller.current?.scrollBy({ top: 120 }) },
    { keys: "k", does: "Up", run: () => scroller.current?.scrollBy({ top: -120 }) },
  ]);
  if (error !== null && !hasRows)
    return <ProblemNotice error={error} what="The transcript could not be read." onRetry={retry} />;
  if (isRead && !hasRows && hearsay === null) return <EmptyState title="Nothing has been said yet." />;
  return (
    <section aria-label="Transcript" className="flex flex-col gap-2">
      {error !== null && (
        <ProblemNotice
          error={error}
          what="The transcript could not be read. What is shown is older."
          onRetry={retry}
        />
      )}
      <div className="rounded-lg border border-line bg-panel">
        <div className="flex items-center gap-3 border-b border-line px-3 py-1 text-xs text-ink-3">
          <Beginning transcript={transcript} onRetry={retry} />
          <label className="ml-auto inline-flex items-center gap-1.5">
            <input
              type="checkbox"
              className="accent-accent"
              checked={raw}
              onChange={({ target: { checked } }) => change({ raw: checked }, { replace: true })}
            />
            raw
          </label>
        </div>
        <div
          ref={scroller}
          tabIndex={0}
          role="log"
          aria-label="Conversation"
          className="h-[calc(100dvh-20rem)] min-h-88 overflow-y-auto px-3 [overflow-anchor:none]"
          onScroll={({ currentTarget }) => {
            if (currentTarget.scrollTop < NEAR_TOP_PX) readEarlier();
          }}
        >
          <div className="relative mx-auto max-w-[52rem]" style={{ height: list.getTotalSize() }}>
            {list.getVirtualItems().map(({ index, key, start }) => {
              const row = rows[index];
              return (
                <div
                  key={key}
                  ref={list.measureElement}
                  data-index={index}
                  className={`absolute inset-x-0 ${index === target ? "-ml-3 border-l-2 border-accent pl-2.5" : ""}`}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  {row === undefined ? (
                    hearsay !== null && <LiveAnswerView answer={hearsay} />
                  ) : (
                    <TranscriptRowView
                      runId={runId}
                      row={row}
                      isRaw={raw}
                      onOpen={(id) => setOpened(toggled(opened, id))}
                    />
                  )}
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </section>
  );
}

/** How far back it is read. */
function Beginning({
  transcript: { known, isRead, isReadingEarlier, earlierError },
  onRetry,
}: {
  readonly transcript: TranscriptState;
  readonly onRetry: () => void;
}): ReactNode {
  if (earlierError !== null)
    return (
      <span className="text-failed">
        what is before could not be read ·{" "}
        <button type="button" className="underline" onClick={onRetry}>
          try again
        </button>
      </span>
    );
  if (isReadingEarlier) return "reading what is before";
  return known.before === null && isRead ? "from its beginning" : "";
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}
