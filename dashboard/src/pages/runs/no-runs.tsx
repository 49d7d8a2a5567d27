import { useQueries } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Command, EmptyState } from "../../parts/layout/empty-state.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { partsOf, type RunFilter, runQuery } from "./run-filter.ts";

const COUNTED = 50;

/** Nothing to list. Without a filter there are no runs at all; with some, the reader wants to know which one to drop. */
export function NoRuns({
  filter,
  onChoose,
}: {
  readonly filter: RunFilter;
  readonly onChoose: (filter: RunFilter) => void;
}): ReactNode {
  const { client } = useDashboard();
  const parts = partsOf(filter);
  const without = useQueries({
    queries: parts.map((part) => ({
      queryKey: ["runs-without", part.without],
      queryFn: () => client.listRuns({ ...runQuery(part.without, Date.now()), limit: COUNTED }),
    })),
  });
  if (parts.length === 0) {
    return (
      <EmptyState title="There are no runs yet.">
        <p>
          A run appears here at once if it is started in the folder of this server, or with the same{" "}
          <code>--store</code>: <Command text="npx pawl run job.yaml" />
        </p>
        <p className="mt-3">
          This writes a project with an agent and a job: <Command text="npx pawl init my-agent" />
        </p>
        <p className="mt-3">
          The demo has a store and a dashboard of its own, and names the packages that it needs:{" "}
          <Command text="npx pawl demo --serve" />
        </p>
      </EmptyState>
    );
  }
  if (filter.needs && parts.length === 1) {
    return (
      <EmptyState title="Nothing needs you.">
        No run waits for a person, is interrupted or has a call in doubt.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No run fits.">
      <ul className="flex flex-col items-center gap-1">
        {parts.map((part, at) => {
          const found = without[at]?.data;
          return (
            <li key={part.words}>
              <button
                type="button"
                className="text-accent hover:underline"
                onClick={() => onChoose(part.without)}
              >
                without <VisibleLine text={part.words} />
              </button>
              {found !== undefined && (
                <span className="text-ink-3">
                  : {found.items.length}
                  {found.nextCursor === null ? "" : "+"}
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </EmptyState>
  );
}
