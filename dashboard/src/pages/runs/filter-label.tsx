import type { ReactNode } from "react";
import { VisibleLine } from "../../parts/text/visible.tsx";

/** The button of a filter: its name, and what is chosen. */
export function FilterLabel({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  if (value === "") return name;
  return (
    <>
      {name}
      <span className="one-line max-w-40 font-medium text-accent">
        <VisibleLine text={value} />
      </span>
    </>
  );
}
