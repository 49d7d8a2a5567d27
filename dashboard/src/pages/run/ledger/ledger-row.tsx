import { type ReactNode, useEffect, useRef } from "react";
import { CallId } from "../../../parts/text/id.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import type { Call, Receipt } from "./call-documents.ts";
import { CallFacts } from "./call-facts.tsx";
import { CallStatus } from "./call-status.tsx";

const CELL = "px-2 py-0.5 md:py-1 md:border-b md:border-line first:pl-3";

/** A call of the ledger: a row on wide screens, two lines on narrow ones. Opened, it says everything that is known. */
export function LedgerRow({
  runId,
  call,
  number,
  isOpen,
  onToggle,
}: {
  readonly runId: string;
  readonly call: Call;
  readonly number: number;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}): ReactNode {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  const { receipt } = call;
  return (
    <>
      <tr
        ref={row}
        className={`flex cursor-pointer flex-wrap items-center border-b border-line py-1 md:table-row md:py-0 ${isOpen ? "bg-selected" : "hover:bg-hover"}`}
        onClick={({ target }) => {
          // Links and buttons of the row have their own meaning.
          if (target instanceof Element && target.closest("a, button") === null) onToggle();
        }}
      >
        <td className={`${CELL} text-ink-3`}>{number}</td>
        <td className={`${CELL} min-w-0 max-md:flex-1`}>
          <button
            type="button"
            aria-expanded={isOpen}
            className="one-line max-w-60 text-left font-medium hover:underline"
            onClick={onToggle}
          >
            <VisibleLine text={call.tool} />
          </button>
        </td>
        <td className={`${CELL} text-ink-2 max-md:order-1 max-md:basis-full max-md:pl-9`}>
          {call.effect} <span className="text-ink-3">· {call.recovery}</span>
        </td>
        <td className={CELL}>
          <CallStatus status={call.status} />
        </td>
        <td className={`${CELL} text-ink-2 max-md:hidden`}>{call.attempt}</td>
        <td className={`${CELL} text-ink-2 max-md:hidden`}>{receipt === null ? "–" : receipt.source}</td>
        <td className={`${CELL} max-md:hidden`}>
          <Outside runId={runId} receipt={receipt} />
        </td>
      </tr>
      {isOpen && (
        <tr className="block md:table-row">
          <td colSpan={7} className="block border-b border-line bg-canvas px-3 py-3 md:table-cell">
            <div className="max-w-3xl">
              <CallFacts runId={runId} callId={call.toolCallId} />
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

/** What the other side knows the call by, or the call whose result it has. */
function Outside({
  runId,
  receipt,
}: {
  readonly runId: string;
  readonly receipt: Receipt | null;
}): ReactNode {
  const { duplicateOf = null, correlationId = null } = receipt ?? {};
  if (duplicateOf !== null)
    return (
      <span className="inline-flex items-center gap-1 text-ink-2">
        duplicate of <CallId runId={runId} callId={duplicateOf} />
      </span>
    );
  if (correlationId === null) return <span className="text-ink-3">–</span>;
  return (
    <code className="one-line inline-block max-w-56 align-bottom">
      <VisibleLine text={correlationId} />
    </code>
  );
}
