import type { ReactNode } from "react";
import { visibleLine, visibleText } from "../../../src/core/visible-text.ts";

// Texts of models, tools, people and files. They are only ever text nodes, and what a reader cannot see is an escape.

/** Such a text on one line. */
export function VisibleLine({ text }: { readonly text: string }): ReactNode {
  return visibleLine(text.length > 2_000 ? text.slice(0, 2_000) : text);
}

/** Such a text with its lines. */
export function VisibleText({
  text,
  className = "",
}: {
  readonly text: string;
  readonly className?: string;
}): ReactNode {
  return <span className={`whitespace-pre-wrap ${className}`}>{visibleText(text)}</span>;
}
