import { type ReactNode, useState } from "react";
import { visibleJson } from "../../../../../src/core/visible-text.ts";
import { Icon } from "../../../parts/controls/icon.tsx";
import { CallId } from "../../../parts/text/id.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { CallStatus } from "../ledger/call-status.tsx";
import { ShownValueView } from "./shown-value.tsx";
import type { ShownCall, ShownValue } from "./transcript-content.ts";

/** A tool call inside of an answer: one line that opens to its arguments and its result. */
export function CallCard({ runId, call }: { readonly runId: string; readonly call: ShownCall }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { toolCallId, tool, effect, status, attempt, request, result } = call;
  const duplicateOf = result?.duplicateOf ?? null;
  return (
    <div className="min-w-0 rounded-md border border-line bg-panel">
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex w-full items-center gap-2 px-2.5 py-1.5 text-left hover:bg-hover"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="down" className={`size-3 text-ink-3 ${isOpen ? "" : "-rotate-90"}`} />
        <span className="shrink-0 font-medium">
          <VisibleLine text={tool} />
        </span>
        <code className="one-line min-w-0 flex-1 text-ink-3">{preview(request)}</code>
        <CallStatus status={status} />
      </button>
      {isOpen && (
        <div className="flex flex-col gap-2 border-t border-line p-2.5">
          <p className="flex flex-wrap items-center gap-x-3 text-xs text-ink-3">
            <CallId runId={runId} callId={toolCallId} />
            <span>{effect}</span>
            {attempt > 1 && <span>attempt {attempt}</span>}
            {duplicateOf !== null && (
              <span className="inline-flex items-center gap-1">
                duplicate of <CallId runId={runId} callId={duplicateOf} />
              </span>
            )}
          </p>
          <ShownValueView runId={runId} value={request} what="arguments" />
          {result === null ? (
            <p className="text-ink-3">It has no result yet.</p>
          ) : (
            <>
              <p className="text-xs text-ink-3">
                Result · {result.source}
                {result.errorCode !== null && ` · ${result.errorCode}`}
                {result.uncertain && " · it may have happened anyway"}
              </p>
              <ShownValueView runId={runId} value={result.value} what="result" />
            </>
          )}
        </div>
      )}
    </div>
  );
}

function preview(value: ShownValue): string {
  switch (value.kind) {
    case "whole":
      return visibleJson(JSON.stringify(value.value).slice(0, 200));
    case "beginning":
      return visibleJson(value.json.text.slice(0, 200));
    case "blob":
      return "";
  }
}
