import type { ReactNode } from "react";
import { visibleJson } from "../../../../../src/core/visible-text.ts";
import type { Answer } from "../../../api/client.ts";
import { CopyButton } from "../../../parts/controls/copy-button.tsx";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { Exact } from "../../../parts/text/time.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { clockWithSeconds } from "../../../words/time-words.ts";
import { viewPath } from "../run-params.ts";

const HASH_PREFIX = 16;

/** An event of the log. One that is not there yet keeps its place. */
export function EventRow({
  runId,
  seq,
  event,
  isOpen,
  onToggle,
}: {
  readonly runId: string;
  readonly seq: number;
  readonly event: Answer<"listEvents">["items"][number] | undefined;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}): ReactNode {
  return (
    <div className={`border-b border-line ${isOpen ? "bg-selected" : "hover:bg-hover"}`}>
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex h-[27px] w-full items-center gap-3 px-3 text-left"
        onClick={onToggle}
      >
        <span className="w-12 shrink-0 text-right text-xs text-ink-3">{seq}</span>
        {event !== undefined && (
          <>
            <span className="shrink-0 text-xs text-ink-3 max-sm:hidden">
              {clockWithSeconds(Date.parse(event.at))}
            </span>
            <span className="shrink-0 font-medium sm:w-36">{event.type}</span>
            <code className="one-line min-w-0 flex-1 text-ink-2">
              {visibleJson(JSON.stringify(event.facts).slice(0, 300))}
            </code>
            <code className="shrink-0 text-ink-3 max-sm:hidden">{event.hash.slice(0, 8)}</code>
          </>
        )}
      </button>
      {isOpen && event !== undefined && (
        <div className="flex flex-col gap-2 px-3 pb-3 sm:pl-[4.5rem]">
          <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-3">
            <Exact at={event.at} />
            <span className="inline-flex min-w-0 items-center gap-1">
              <span className="shrink-0">hash</span>
              <code className="one-line max-w-64">
                <VisibleLine text={event.hash} />
              </code>
              <CopyButton text={event.hash} what="hash" />
            </span>
            <span className="inline-flex items-center gap-1">
              link that checks the log
              <CopyButton
                text={
                  location.origin +
                  viewPath(runId, { view: "log", at: String(seq), hash: event.hash.slice(0, HASH_PREFIX) })
                }
                what="link to this event"
              />
            </span>
          </p>
          <JsonView value={event.facts} what="facts" />
        </div>
      )}
    </div>
  );
}
