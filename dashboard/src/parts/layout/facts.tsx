import type { ReactNode } from "react";

/** Names and values below each other. */
export function Facts({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5">{children}</dl>;
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="contents">
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}

/** Names and values on a panel. Those without a value are left out. */
export function FactPanel({
  facts,
}: {
  readonly facts: readonly (readonly [string, ReactNode])[];
}): ReactNode {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1 rounded-lg border border-line bg-panel px-3 py-2">
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
    </dl>
  );
}
