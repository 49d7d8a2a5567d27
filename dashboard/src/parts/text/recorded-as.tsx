import type { ReactNode } from "react";
import { useDashboard } from "../../live/dashboard-context.ts";
import { VisibleLine } from "./visible.tsx";

/** Under whose name an act is stored: that of the session, and never one that is typed. */
export function RecordedAs(): ReactNode {
  const { me } = useDashboard();
  return (
    <span className="mr-auto text-ink-3">
      recorded as <VisibleLine text={me.name} />
    </span>
  );
}
