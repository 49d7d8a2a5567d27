import type { ReactNode } from "react";
import { useDashboard } from "../../../app/dashboard-context.ts";
import { VisibleLine } from "../../../parts/visible.tsx";

/** Beside every act: the name under which it is recorded. */
export function RecordedAs(): ReactNode {
  const { me } = useDashboard();
  return (
    <span className="mr-auto text-xs text-ink-3">
      recorded as{" "}
      <span className="text-ink-2">
        <VisibleLine text={me.name} />
      </span>
    </span>
  );
}
