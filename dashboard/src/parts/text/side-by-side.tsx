import { type ReactNode, useMemo } from "react";
import { visibleText } from "../../../../src/core/visible-text.ts";
import { useIsNarrow } from "../../browser/use-is-narrow.ts";
import { DiffView } from "./diff-view.tsx";
import { wordDiff } from "./text-diff.ts";

/** Two texts beside each other, with the words that differ marked; one below the other where there is no room. */
export function SideBySide({ a, b }: { readonly a: string | null; readonly b: string | null }): ReactNode {
  const isNarrow = useIsNarrow();
  if (isNarrow && a !== null && b !== null) return <DiffView before={a} after={b} />;
  return (
    <div className="grid gap-x-6 gap-y-2 md:grid-cols-2">
      <Side text={a} other={b} kind="removed" />
      <Side text={b} other={a} kind="added" />
    </div>
  );
}

const LOOKS = {
  removed: "bg-failed-soft text-failed",
  added: "bg-succeeded-soft text-succeeded",
} as const;

type SideProps = {
  readonly text: string | null;
  readonly other: string | null;
  readonly kind: "removed" | "added";
};

function Side({ text, other, kind }: SideProps): ReactNode {
  const parts = useMemo(() => {
    if (text === null || other === null || text === other)
      return [{ kind: "same" as const, text: text ?? "" }];
    const diff = kind === "removed" ? wordDiff(text, other) : wordDiff(other, text);
    return diff.filter((part) => part.kind === "same" || part.kind === kind);
  }, [text, other, kind]);
  if (text === null) return <p className="text-ink-3 max-md:hidden">not there</p>;
  const Changed = kind === "removed" ? "del" : "ins";
  return (
    <div className="min-w-0 whitespace-pre-wrap">
      {other === null && (
        <span className="text-ink-3 md:hidden">only in {kind === "removed" ? "a" : "b"}: </span>
      )}
      {parts.map((part, at) =>
        part.kind === "same" ? (
          <span key={at}>{visibleText(part.text)}</span>
        ) : (
          <Changed key={at} className={`rounded-sm no-underline ${LOOKS[kind]}`}>
            {visibleText(part.text)}
          </Changed>
        ),
      )}
    </div>
  );
}
