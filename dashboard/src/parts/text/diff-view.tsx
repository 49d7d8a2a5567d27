import { type ReactNode, useMemo } from "react";
import { visibleText } from "../../../../src/core/visible-text.ts";
import { type DiffPart, lineDiff, wordDiff } from "./text-diff.ts";

/** What changed between two texts. Added and removed are marked by line and colour, and named for readers of the page. */
export function DiffView({
  before,
  after,
  by = "word",
}: {
  readonly before: string;
  readonly after: string;
  readonly by?: "word" | "line";
}): ReactNode {
  const parts = useMemo(
    () => (by === "word" ? wordDiff(before, after) : lineDiff(before, after)),
    [before, after, by],
  );
  return (
    <div className="font-mono text-xs leading-[18px] whitespace-pre-wrap">
      {parts.map((part, at) => (
        <Part key={at} part={part} />
      ))}
    </div>
  );
}

function Part({ part: { kind, text } }: { readonly part: DiffPart }): ReactNode {
  const shown = visibleText(text);
  if (kind === "added")
    return <ins className="rounded-sm bg-succeeded-soft text-succeeded no-underline">{shown}</ins>;
  if (kind === "removed") return <del className="rounded-sm bg-failed-soft text-failed">{shown}</del>;
  return <span className="text-ink-2">{shown}</span>;
}
