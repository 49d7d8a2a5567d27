import { memo, type ReactNode } from "react";
import type { RunHead } from "../../api/documents.ts";
import { runPath } from "../../browser/places.ts";
import { useRunHead } from "../../live/use-live.ts";
import { useNow } from "../../live/use-now.ts";
import { Spent } from "../../parts/charts/budget-bar.tsx";
import { Link } from "../../parts/controls/link.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { Status } from "../../parts/text/status.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { shownLine, VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { runWords } from "./run-words.ts";

/** Wide: one line of columns. Narrow: two lines. */
export const ROW_COLUMNS =
  "md:grid-cols-[1.25rem_6.75rem_minmax(6rem,10rem)_minmax(5rem,8rem)_minmax(0,3fr)_minmax(0,2fr)_5rem_11rem]";
export const NARROW_ROW_PX = 58;
export const WIDE_ROW_PX = 30;

type RunRowProps = {
  readonly fetched: RunHead;
  readonly isAt: boolean;
  readonly isSelected: boolean;
  readonly maySelect: boolean;
  readonly onSelect: (runId: string, isSelected: boolean) => void;
};

/** A run. It changes in place: only the stream's news of this run render it again. */
export const RunRow = memo(function RunRow(props: RunRowProps): ReactNode {
  const head = useRunHead(props.fetched.runId, props.fetched);
  const { runId } = head;
  return (
    <div
      role="row"
      data-run={runId}
      aria-selected={props.isSelected}
      className={`grid grid-cols-[1.25rem_minmax(0,1fr)_auto] items-center gap-x-3 border-b border-line px-2 max-md:h-[58px] max-md:content-center md:h-[30px] ${ROW_COLUMNS} ${props.isAt ? "shadow-[inset_2px_0_var(--color-accent)]" : ""} ${props.isSelected ? "bg-selected" : "hover:bg-hover"}`}
    >
      <span role="cell" className="max-md:row-span-2">
        {props.maySelect && (
          <input
            type="checkbox"
            aria-label={`Select ${runId}`}
            checked={props.isSelected}
            onChange={({ target }) => props.onSelect(runId, target.checked)}
            className="block size-3.5 accent-accent"
          />
        )}
      </span>
      <span role="cell" className="max-md:hidden">
        <Status status={head.status} />
      </span>
      <span role="cell" className="flex min-w-0 items-center gap-2">
        <span className="md:hidden">
          <Status status={head.status} />
        </span>
        <RunId runId={runId} />
      </span>
      <span role="cell" className="one-line text-ink-2 max-md:hidden">
        <VisibleLine text={head.pipeline} />
      </span>
      <span
        role="cell"
        aria-colspan={head.objective === null ? 2 : undefined}
        className={`one-line max-md:order-last max-md:col-start-2 ${head.objective === null ? "md:col-span-2" : ""}`}
      >
        <What head={head} />
      </span>
      {head.objective !== null && (
        <span role="cell" className="one-line text-ink-2 max-md:hidden">
          <VisibleLine text={head.objective} />
        </span>
      )}
      <span role="cell" className="text-right text-xs text-ink-3">
        <Ago at={head.updatedAt} />
      </span>
      <span role="cell" className="min-w-0 text-xs max-md:order-last">
        <Spent charged={head.charged} reserved={head.reserved} limit={head.limit} />
      </span>
    </div>
  );
});

function What({ head }: { readonly head: RunHead }): ReactNode {
  const now = useNow();
  const words = runWords(head, now);
  return (
    <>
      {head.callsInDoubt > 0 && (
        <Link href={`${runPath(head.runId)}?view=ledger`} className="mr-2 text-interrupted hover:underline">
          {counted(head.callsInDoubt, "call")} in doubt
        </Link>
      )}
      <span title={shownLine(words)} className={head.status === "failed" ? "text-failed" : ""}>
        <VisibleLine text={words} />
      </span>
    </>
  );
}
