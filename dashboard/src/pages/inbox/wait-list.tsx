import type { ReactNode } from "react";
import type { Wait } from "../../api/documents.ts";
import { waitPath } from "../../browser/places.ts";
import { Link } from "../../parts/controls/link.tsx";
import { Age } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { answerWords, kindWords, subjectWords } from "./wait-words.ts";

export const WAIT_ROW_PX = 54;

/** Waits as lines. */
export function WaitList({
  waits,
  at,
  label,
}: {
  readonly waits: readonly Wait[];
  readonly at: string | null;
  readonly label: string;
}): ReactNode {
  return (
    <ul aria-label={label} className="overflow-hidden rounded-lg border border-line bg-panel">
      {waits.map((wait) => (
        <WaitRow key={wait.waitId} wait={wait} isAt={wait.waitId === at} />
      ))}
    </ul>
  );
}

type WaitRowProps = {
  readonly wait: Wait;
  readonly isAt: boolean;
  /** Its place, where the list has only the rows that are in the window. */
  readonly place?: { readonly "aria-posinset": number; readonly "aria-setsize": number };
};

/** What kind, about what, of which run, and how long ago. */
export function WaitRow({ wait, isAt, place }: WaitRowProps): ReactNode {
  return (
    <li {...place} style={{ height: WAIT_ROW_PX }} className="border-b border-line last:border-0">
      <Link
        href={waitPath(wait.waitId) + location.search}
        aria-current={isAt ? "true" : undefined}
        className="grid h-full grid-cols-[minmax(0,1fr)_auto] content-center gap-x-3 px-3 hover:bg-hover aria-[current]:bg-selected"
      >
        <span className="one-line font-medium">
          <VisibleLine text={subjectWords(wait)} />
        </span>
        <span className="text-right text-xs text-ink-3">
          <Age at={wait.answeredAt ?? wait.createdAt} />
        </span>
        <span className="one-line text-xs text-ink-3">
          <span className={wait.status === "open" ? "text-waiting" : ""}>{kindWords(wait.kind)}</span>
          {" · "}
          <VisibleLine text={wait.status === "open" ? wait.pipeline : answeredWords(wait)} />
        </span>
        <span className="one-line max-w-40 text-right font-mono text-xs text-ink-2">
          <VisibleLine text={wait.runId} />
        </span>
      </Link>
    </li>
  );
}

function answeredWords(wait: Wait): string {
  return wait.answeredBy === null ? answerWords(wait) : `${wait.answeredBy}: ${answerWords(wait)}`;
}
