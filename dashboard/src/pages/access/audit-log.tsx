import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { OPERATIONS } from "../../../../src/server/api/operations.ts";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { Id } from "../../parts/text/id.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { periodStartText } from "../../words/periods.ts";
import type { AuditFilter } from "./audit-filter.ts";
import { AuditFilters } from "./audit-filters.tsx";
import { isRefused, targetPath } from "./audit-target.ts";

type Entry = Answer<"listAudit">["items"][number];

type AuditLogProps = {
  readonly filter: AuditFilter;
  readonly onChange: (change: Partial<AuditFilter>, options?: { readonly replace?: boolean }) => void;
};

const PAGE = 100;

/** What people did and read through this server, newest first. */
export function AuditLog({ filter, onChange }: AuditLogProps): ReactNode {
  const pages = useAudit(filter);
  const entries = pages.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <AuditFilters filter={filter} onChange={onChange} acts={Object.keys(OPERATIONS)} />
        <Button kind="quiet" disabled={pages.isFetching} onClick={() => void pages.refetch()}>
          Refresh
        </Button>
      </div>
      {pages.error !== null && (
        <ProblemNotice
          error={pages.error}
          what="The audit log could not be read."
          since={pages.errorUpdatedAt}
          onRetry={() => void pages.refetch()}
        />
      )}
      {pages.data !== undefined && entries.length === 0 && (
        <EmptyState title="No entry fits.">
          Acts are recorded before they are acknowledged; reads of the same thing once in ten minutes.
        </EmptyState>
      )}
      {entries.length > 0 && <Entries entries={entries} onChange={onChange} />}
      {entries.length > 0 && (
        <p className="flex items-center justify-center gap-3 py-1 text-xs text-ink-3">
          {counted(entries.length, "entry", "entries")}
          {pages.hasNextPage && (
            <Button disabled={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
              Older ones
            </Button>
          )}
        </p>
      )}
    </>
  );
}

/** New entries do not move what is read: they come with a refresh. */
function useAudit({ who, act, target, since }: AuditFilter) {
  const { client } = useDashboard();
  return useInfiniteQuery({
    queryKey: ["audit", who, act, target, since],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.listAudit({
        ...(who === null ? {} : { who }),
        ...(act === null ? {} : { act }),
        ...(target === null ? {} : { target }),
        ...(since === null ? {} : { since: periodStartText(since, Date.now()) }),
        ...(cursor === null ? {} : { cursor }),
        limit: PAGE,
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

type EntriesProps = { readonly entries: readonly Entry[]; readonly onChange: AuditLogProps["onChange"] };

function Entries({ entries, onChange }: EntriesProps): ReactNode {
  const columns: readonly Column<Entry>[] = [
    {
      name: "Act",
      cell: ({ act }) => <FilterWord text={act} what="this act" onChoose={() => onChange({ act })} />,
    },
    {
      name: "Who",
      isUnnamed: true,
      cell: ({ who }) => (
        <>
          <FilterWord text={who.name} what="this person" onChoose={() => onChange({ who: who.name })} />{" "}
          <span className="text-xs text-ink-3">{who.role}</span>
        </>
      ),
    },
    { name: "Target", width: "minmax(0,1fr)", isUnnamed: true, cell: (entry) => <Target entry={entry} /> },
    { name: "Outcome", isUnnamed: true, cell: ({ outcome }) => <Outcome outcome={outcome} /> },
    { name: "When", isUnnamed: true, cell: ({ at }) => <Ago at={at} /> },
    {
      name: "Request",
      cell: ({ requestId }) => (
        <span className="inline-flex items-center gap-0.5 text-xs text-ink-3">
          <code>
            <VisibleLine text={requestId.slice(0, 12)} />
          </code>
          <CopyButton text={requestId} what="request id" />
        </span>
      ),
    },
  ];
  return <Table label="Audit log" columns={columns} rows={entries} keyOf={({ no }) => String(no)} />;
}

function FilterWord({
  text,
  what,
  onChoose,
}: {
  readonly text: string;
  readonly what: string;
  readonly onChoose: () => void;
}): ReactNode {
  return (
    <button
      type="button"
      title={`Only ${what}`}
      className="hover:text-accent hover:underline"
      onClick={onChoose}
    >
      <VisibleLine text={text} />
    </button>
  );
}

function Target({ entry: { act, target } }: { readonly entry: Entry }): ReactNode {
  if (target === null) return null;
  const href = targetPath(act, target);
  return href === null ? <VisibleLine text={target} /> : <Id id={target} href={href} what="target" />;
}

function Outcome({ outcome }: { readonly outcome: string }): ReactNode {
  const isWrong = isRefused(outcome);
  return (
    <span className={`whitespace-nowrap ${isWrong ? "text-failed" : "text-ink-3"}`}>
      {isWrong && <Icon name="failed" className="mr-1 align-[-2px]" />}
      <VisibleLine text={outcome} />
    </span>
  );
}
