import type { ReactNode } from "react";
import { visibleLine, visibleParts } from "../../../../src/core/visible-text.ts";

// Texts of models, tools, people and files. They are only ever text nodes, and what a reader cannot see is an escape.

/** Such a text on one line. */
export function VisibleLine({ text }: { readonly text: string }): ReactNode {
  return shownLine(text);
}

/** The same for an attribute: a tooltip, a label, the title of the tab. */
export function shownLine(text: string): string {
  return visibleLine(text.length > 2_000 ? text.slice(0, 2_000) : text);
}

/** Such a text with its lines. Escapes are marked: a text that only looks like one is not. */
export function VisibleText({
  text,
  className = "",
}: {
  readonly text: string;
  readonly className?: string;
}): ReactNode {
  return (
    <span className={`whitespace-pre-wrap ${className}`}>
      {visibleParts(text).map((part, at) =>
        part.isEscape ? (
          <mark key={at} className="rounded-sm bg-interrupted-soft font-mono text-xs text-interrupted">
            {part.text}
          </mark>
        ) : (
          part.text
        ),
      )}
    </span>
  );
}
