import { type ReactNode, useEffect } from "react";
import { useLive } from "../../live/use-live.ts";
import { shownLine, VisibleLine } from "../text/visible.tsx";

/** The frame of a page: its title (also of the tab), what stands beside it, and the content. */
export function Page({
  title,
  beside,
  children,
}: {
  readonly title: string;
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  useTabTitle(title);
  const { connection } = useLive();
  return (
    <main className="mx-auto flex w-full max-w-[110rem] flex-1 flex-col gap-3 px-4 py-3 max-sm:px-3">
      <div className="flex min-h-7 flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className={`text-lg font-semibold ${connection.status === "lost" ? "text-ink-3" : ""}`}>
          <VisibleLine text={title} />
        </h1>
        {beside}
      </div>
      {children}
    </main>
  );
}

/** `(3) Pawl · Runs` where three waits are open. */
function useTabTitle(title: string): void {
  const { openWaits } = useLive();
  const waits = openWaits === null || openWaits === 0 ? "" : `(${openWaits}) `;
  useEffect(() => {
    document.title = `${waits}Pawl · ${shownLine(title)}`;
  }, [title, waits]);
}
