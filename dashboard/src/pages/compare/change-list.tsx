import type { ReactNode } from "react";
import type { ValueChange } from "../../parts/text/value-change.ts";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { FoldedSides } from "./folded-sides.tsx";

/** Values that differ, each under its path. */
export function ChangeList({
  changes,
  label,
}: {
  readonly changes: readonly ValueChange[];
  readonly label: string;
}): ReactNode {
  return (
    <ul aria-label={label} className="flex flex-col">
      {changes.map((change) => (
        <li key={change.path} className="border-b border-line px-3 py-2 last:border-0">
          {change.path !== "" && (
            <code className="mb-0.5 block text-ink-3">
              <VisibleLine text={change.path} />
            </code>
          )}
          <FoldedSides a={change.a} b={change.b} />
        </li>
      ))}
    </ul>
  );
}
