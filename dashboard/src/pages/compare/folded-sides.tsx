import { type ReactNode, useState } from "react";
import { SideBySide } from "../../parts/text/side-by-side.tsx";
import { countWords } from "../../words/money-words.ts";

const MOST_LINES = 12;
/** Of a line in half of the page. A guess will do: what is folded opens. */
const LINE_CHARACTERS = 80;

type FoldedSidesProps = { readonly a: string | null; readonly b: string | null };

/** Two texts beside each other. Long ones are folded: an input of pages must not hide the turns below it. */
export function FoldedSides({ a, b }: FoldedSidesProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const lines = Math.max(lineCount(a), lineCount(b));
  if (lines <= MOST_LINES) return <SideBySide a={a} b={b} />;
  return (
    <>
      <div className={isOpen ? "" : "max-h-60 overflow-hidden"}>
        <SideBySide a={a} b={b} />
      </div>
      <button
        type="button"
        aria-expanded={isOpen}
        className="touch-size mt-1 text-xs text-accent hover:underline"
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? "Less" : `Show all of it, about ${countWords(lines)} lines`}
      </button>
    </>
  );
}

function lineCount(text: string | null): number {
  if (text === null) return 0;
  return text
    .split("\n")
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LINE_CHARACTERS)), 0);
}
