import type { ReactNode } from "react";
import { useNow } from "../../live/use-now.ts";
import { durationWords, exactWords, relativeWords } from "../../words/time-words.ts";

/** A time as its distance from now, with the exact one behind it. */
export function Ago({ at }: { readonly at: string }): ReactNode {
  const now = useNow();
  return <Exact at={at}>{relativeWords(Date.parse(at), now)}</Exact>;
}

/** How long ago, without "ago": for columns whose heading says it. */
export function Age({ at }: { readonly at: string }): ReactNode {
  const now = useNow();
  return <Exact at={at}>{durationWords(Math.max(0, now - Date.parse(at)))}</Exact>;
}

/** Any words for a time, with the exact one behind them; the exact one if none are given. */
export function Exact({ at, children }: { readonly at: string; readonly children?: ReactNode }): ReactNode {
  const exact = exactWords(Date.parse(at));
  return (
    <time dateTime={at} title={exact} className="whitespace-nowrap">
      {children ?? exact}
    </time>
  );
}
