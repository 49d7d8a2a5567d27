import type { ReactNode } from "react";

/** A part of a page under a heading of its own. */
export function Section({
  title,
  beside,
  children,
}: {
  readonly title: string;
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section aria-label={title} className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="text-md font-semibold">{title}</h2>
        {beside}
      </div>
      {children}
    </section>
  );
}
