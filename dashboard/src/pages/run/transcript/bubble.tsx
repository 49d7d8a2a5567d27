import type { ReactNode } from "react";
import { Exact } from "../../../parts/text/time.tsx";
import { clockWords } from "../../../words/time-words.ts";

/** A time of day, with the exact one behind it. */
export function Clock({ at }: { readonly at: string }): ReactNode {
  return <Exact at={at}>{clockWords(Date.parse(at))}</Exact>;
}

/** A thin line with words in its middle. */
export function Line({ look, children }: { readonly look: string; readonly children: ReactNode }): ReactNode {
  return (
    <p className={`flex items-center gap-3 py-0.5 text-center text-xs ${look}`}>
      <span className="h-px min-w-4 flex-1 bg-line" />
      <span className="max-w-[85%]">{children}</span>
      <span className="h-px min-w-4 flex-1 bg-line" />
    </p>
  );
}

/** What a person said: who, when, and the words. */
export function Bubble({
  who,
  at,
  look,
  children,
}: {
  readonly who: ReactNode;
  readonly at: string;
  readonly look: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className="flex flex-col py-1.5">
      <div className={`max-w-[46rem] min-w-0 rounded-lg px-3 py-2 ${look}`}>
        <p className="mb-0.5 text-xs text-ink-3">
          {who} · <Clock at={at} />
        </p>
        {children}
      </div>
    </div>
  );
}
