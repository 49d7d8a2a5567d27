import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useKeys } from "../../../browser/keyboard.ts";
import { EmptyState } from "../../../parts/layout/empty-state.tsx";
import { Notice, ProblemNotice } from "../../../parts/layout/notice.tsx";
import { useRunParams } from "../run-params.ts";
import { EventRow } from "./event-row.tsx";
import { checkLink, chunksOf, type LinkCheck, seqIn } from "./log-chunks.ts";
import { useEvents } from "./use-events.ts";

const ROW_PX = 28;

/** The run's own log, as it is stored. Any part of it is fetched when it is looked at. */
export function LogView({ runId, lastSeq }: { readonly runId: string; readonly lastSeq: number }): ReactNode {
  const [params, change] = useRunParams();
  const at = seqIn(params.at);
  const [isFollowing, setFollowing] = useState(at === null);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lastSeq,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const shown = rows.getVirtualItems();
  const [first, last] = [(shown[0]?.index ?? 0) + 1, (shown.at(-1)?.index ?? 0) + 1];
  const seen = chunksOf(first, last, lastSeq);
  const selected = at === null || at > lastSeq ? [] : chunksOf(at, at, lastSeq);
  const { events, error, retry } = useEvents(runId, [...seen, ...selected]);
  const jump = (seq: number): void => {
    setFollowing(false);
    change({ at: String(seq), hash: null }, { replace: true });
  };
  useEffect(() => {
    if (isFollowing && lastSeq > 0) rows.scrollToIndex(lastSeq - 1, { align: "end" });
  }, [rows, isFollowing, lastSeq]);
  useEffect(() => {
    if (at !== null && at <= lastSeq) rows.scrollToIndex(at - 1, { align: "center" });
    // Only when another event is selected: a log that grows must not pull the reader back.
  }, [rows, at]);
  useKeys([
    { keys: "j", does: "Next event", run: () => jump(Math.min(lastSeq, (at ?? first - 1) + 1)) },
    { keys: "k", does: "Event before", run: () => jump(Math.max(1, (at ?? last + 1) - 1)) },
    { keys: "f", does: "Follow the log", run: () => setFollowing(!isFollowing) },
  ]);
  if (lastSeq === 0) return <EmptyState title="Nothing has happened yet." />;
  const check = checkLink(
    { seq: at, hash: params.hash },
    lastSeq,
    at === null ? undefined : events.get(at)?.hash,
  );
  return (
    <section aria-label="Log" className="flex flex-col gap-2">
      <LinkNotice check={check} lastSeq={lastSeq} />
      {error !== null && <ProblemNotice error={error} what="The log could not be read." onRetry={retry} />}
      <div className="rounded-lg border border-line bg-panel">
        <div className="flex flex-wrap items-center gap-3 border-b border-line px-3 py-1 text-xs text-ink-3">
          <JumpField lastSeq={lastSeq} onJump={jump} />
          <label className="ml-auto inline-flex items-center gap-1.5">
            <input
              type="checkbox"
              className="accent-accent"
              checked={isFollowing}
              onChange={({ target }) => setFollowing(target.checked)}
            />
            follow
          </label>
        </div>
        <div
          ref={scroller}
          className="h-[calc(100dvh-20.5rem)] min-h-88 overflow-auto"
          onWheel={({ deltaY }) => deltaY < 0 && setFollowing(false)}
          onTouchMove={() => setFollowing(false)}
        >
          <ol className="relative" style={{ height: rows.getTotalSize() }}>
            {shown.map(({ index, start, key }) => (
              <li
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className="absolute inset-x-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                <EventRow
                  runId={runId}
                  seq={index + 1}
                  event={events.get(index + 1)}
                  isOpen={index + 1 === at}
                  onToggle={() =>
                    index + 1 === at ? change({ at: null, hash: null }, { replace: true }) : jump(index + 1)
                  }
                />
              </li>
            ))}
          </ol>
        </div>
      </div>
    </section>
  );
}

function JumpField({
  lastSeq,
  onJump,
}: {
  readonly lastSeq: number;
  readonly onJump: (seq: number) => void;
}): ReactNode {
  const [text, setText] = useState("");
  return (
    <form
      className="inline-flex items-center gap-1.5"
      onSubmit={(event) => {
        event.preventDefault();
        const seq = seqIn(text);
        if (seq !== null) onJump(Math.min(seq, lastSeq));
      }}
    >
      <label htmlFor="jump">go to #</label>
      <input
        id="jump"
        inputMode="numeric"
        value={text}
        placeholder={String(lastSeq)}
        className="h-6 w-20 rounded-md border border-edge bg-panel px-1.5 text-ink"
        onChange={({ target }) => setText(target.value)}
      />
    </form>
  );
}

function LinkNotice({ check, lastSeq }: { readonly check: LinkCheck; readonly lastSeq: number }): ReactNode {
  switch (check.kind) {
    case "none":
      return null;
    case "same":
      return (
        <Notice
          kind="success"
          title={`Up to event #${check.seq}, the log is the one that this link was made from.`}
        />
      );
    case "other":
      return (
        <Notice kind="problem" title={`Event #${check.seq} is not the one that this link was made from.`}>
          The log was changed, or it is the log of another run with this id. Verify the run.
        </Notice>
      );
    case "missing":
      return (
        <Notice kind="problem" title={`The log has no event #${check.seq}: it ends with #${lastSeq}.`}>
          If the link was made from this run, its log was cut. Verify the run.
        </Notice>
      );
  }
}
