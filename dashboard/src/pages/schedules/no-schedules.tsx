import type { ReactNode } from "react";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";

const EXAMPLE = `schedules: {
  nightly: {
    pipeline: "report",
    cron: "0 2 * * *",
    timeZone: "Europe/Berlin",
  },
},`;

/** Schedules are part of the configuration: this is what one looks like. */
export function NoSchedules(): ReactNode {
  return (
    <EmptyState title="There are no schedules." command="pawl worker">
      <p>A schedule starts a pipeline at planned times. Write one into pawl.config.ts:</p>
      <div className="relative my-3 rounded-md border border-line bg-sunken p-3 text-left">
        <span className="absolute top-1 right-1">
          <CopyButton text={EXAMPLE} what="example" />
        </span>
        <pre className="text-ink">{EXAMPLE}</pre>
      </div>
      <p>A worker stores it when it starts, and any worker fires it:</p>
    </EmptyState>
  );
}
