import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Sparkline } from "../../parts/charts/sparkline.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { countWords } from "../../words/money-words.ts";
import { failedCounts, failedWords } from "./error-times.ts";
import { NO_FILTER, type RunFilter, runQuery } from "./run-filter.ts";

/** The errors of failed runs since a time, counted: also what the view "failed 24 h" is counted by. */
export function useErrorGroups(since: RunFilter["since"], isWanted = true) {
  const { client } = useDashboard();
  return useQuery({
    queryKey: ["errors", since],
    queryFn: ({ signal }) => {
      const query = runQuery({ ...NO_FILTER, since }, Date.now());
      return client.listErrors({ since: query.since, limit: 200, signal });
    },
    staleTime: 60_000,
    enabled: isWanted,
  });
}

/** Failed runs by their error: twenty runs that failed for one reason are one line. */
export function ErrorGroups({ since }: { readonly since: RunFilter["since"] }): ReactNode {
  const groups = useErrorGroups(since);
  if (groups.error !== null && groups.data === undefined) {
    return (
      <ProblemNotice
        error={groups.error}
        what="The errors could not be read."
        since={groups.errorUpdatedAt}
        onRetry={() => void groups.refetch()}
      />
    );
  }
  const { data } = groups;
  if (data === undefined) return null;
  if (data.items.length === 0) return <EmptyState title="No run has failed in this time." />;
  return (
    <ul aria-label="Errors" className="rounded-lg border border-line bg-panel">
      {data.items.map((group) => (
        <li
          key={`${group.pipeline} ${group.code} ${group.step}`}
          className="grid grid-cols-[3rem_minmax(0,1fr)] gap-x-3 gap-y-0.5 border-b border-line px-3 py-2 last:border-0 md:grid-cols-[3rem_minmax(0,1fr)_auto]"
        >
          <span className="text-right text-md font-semibold">{countWords(group.count)}</span>
          <span className="min-w-0">
            <span className="font-medium text-failed">
              <VisibleLine text={group.code ?? "unknown error"} />
            </span>{" "}
            <span className="text-ink-2">
              <VisibleLine text={[group.pipeline, group.step].filter((part) => part !== null).join(" · ")} />
            </span>
          </span>
          <span className="flex flex-wrap items-center gap-x-3 text-xs text-ink-3 max-md:col-start-2">
            <Sparkline values={failedCounts(data, group)} label={failedWords(data, group)} />
            <span>
              first <Ago at={group.firstAt} />, last <Ago at={group.lastAt} />
            </span>
            <RunId runId={group.newestRunId} />
          </span>
        </li>
      ))}
    </ul>
  );
}
