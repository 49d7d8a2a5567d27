import type { ReactNode } from "react";

/** Names and values below each other. */
export function Facts({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-0.5">{children}</dl>;
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="contents">
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}
