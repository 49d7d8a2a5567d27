import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { useKeys } from "../../browser/keyboard.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useDashboard, useMayAct, useMayExport } from "../../live/dashboard-context.ts";
import { useLive } from "../../live/use-live.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { counted, countWords } from "../../words/money-words.ts";
import { type BulkAction, BulkDialog, MOST_AT_ONCE } from "./bulk-dialog.tsx";
import { ErrorGroups, useErrorGroups } from "./error-groups.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { NoRuns } from "./no-runs.tsx";
import { filterOf, filterSearch, RUN_PARAMS, type RunFilter, usualFilter } from "./run-filter.ts";
import { RunRows } from "./run-list.tsx";
import { RunViews } from "./run-views.tsx";
import { type RunList, useRunList } from "./use-run-list.ts";

/** What happens, and what needs me. */
export function RunsPage(): ReactNode {
  const { client } = useDashboard();
  const mayAct = useMayAct();
  const live = useLive();
  const [params, change] = useSearchParams(RUN_PARAMS);
  const fetched = useQuery({
    queryKey: ["counts"],
    queryFn: ({ signal }) => client.countRuns({ signal }),
  });
  const counts = live.counts ?? fetched.data ?? null;
  const failed = useErrorGroups("24h");
  const given = filterSearch(params);
  const isUsual = given === "" && params.view === null;
  // What the address without filters means is decided once: it must not change while it is read.
  const [usual, setUsual] = useState<RunFilter | null>(null);
  if (isUsual && usual === null && (counts !== null || fetched.isError)) {
    setUsual(counts === null ? filterOf("") : usualFilter(counts, mayAct));
  }
  if (!isUsual && usual !== null) setUsual(null);
  const chosen = useMemo(() => filterOf(given), [given]);
  const filter = isUsual ? usual : chosen;
  const choose = (next: RunFilter, options?: { readonly replace?: boolean }): void => {
    change({ ...next, view: filterSearch(next) === "" ? "all" : null, at: null, groups: false }, options);
  };
  if (filter === null) return <Page title="Runs">{null}</Page>;
  // The groups are of all failed runs, whatever calls of theirs failed.
  const isFailed = filter.status.join() === "failed" && filter.toolError === null;
  return (
    <Page
      title="Runs"
      beside={
        <RunViews
          filter={filter}
          counts={counts}
          failedLately={failed.data?.items.reduce((sum, { count }) => sum + count, 0) ?? null}
          onChoose={choose}
        />
      }
    >
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-0 flex-1">
          <FilterBar filter={filter} onChange={choose} />
        </div>
        {isFailed && (
          <Button aria-pressed={params.groups} onClick={() => change({ groups: !params.groups })}>
            {params.groups ? "One by one" : "Group by error"}
          </Button>
        )}
      </div>
      {isFailed && params.groups ? (
        <ErrorGroups since={filter.since} />
      ) : (
        <Runs
          key={filterSearch(filter)}
          filter={filter}
          at={params.at}
          total={filterSearch(filter) === "" ? (counts?.total ?? null) : null}
          onAt={(at) => change({ at }, { replace: true })}
          onChoose={choose}
        />
      )}
    </Page>
  );
}

type RunsProps = {
  readonly filter: RunFilter;
  readonly at: string | null;
  readonly total: number | null;
  readonly onAt: (runId: string | null) => void;
  readonly onChoose: (filter: RunFilter) => void;
};

function Runs({ filter, at, total, onAt, onChoose }: RunsProps): ReactNode {
  const [mayAct, mayExport] = [useMayAct(), useMayExport()];
  const list = useRunList(filter);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [action, setAction] = useState<SelectionAction | null>(null);
  const onSelect = useCallback((runId: string, isSelected: boolean) => {
    setSelected((before) => {
      const after = new Set(before);
      if (isSelected) after.add(runId);
      else after.delete(runId);
      return after;
    });
  }, []);
  useKeys([
    {
      keys: "Escape",
      does: "Select nothing",
      run: () => {
        setSelected(new Set());
        onAt(null);
      },
    },
  ]);
  if (list.error !== null && !list.isLoaded) {
    return (
      <ProblemNotice
        error={list.error}
        what="The runs could not be read."
        since={list.errorAt}
        onRetry={list.retry}
      />
    );
  }
  if (!list.isLoaded) return null;
  return (
    <div className="flex flex-col">
      {list.fresh > 0 && <FreshChip list={list} />}
      {list.heads.length === 0 ? (
        <NoRuns filter={filter} onChoose={onChoose} />
      ) : (
        <RunRows
          list={list}
          maySelect={mayAct || mayExport}
          at={at}
          onAt={onAt}
          selected={selected}
          onSelect={onSelect}
        />
      )}
      <Foot list={list} total={total} />
      {selected.size > 0 && (
        <BulkBar
          count={selected.size}
          actions={[
            ...(mayAct ? (["resume", "cancel"] as const) : []),
            ...(mayExport ? (["export"] as const) : []),
          ]}
          onAction={setAction}
          onClear={() => setSelected(new Set())}
        />
      )}
      {action === "export" && <ExportDialog runIds={[...selected]} onClose={() => setAction(null)} />}
      {action !== null && action !== "export" && (
        <BulkDialog action={action} runIds={[...selected]} onClose={() => setAction(null)} />
      )}
    </div>
  );
}

/** New runs wait here until the reader wants them. */
function FreshChip({ list }: { readonly list: RunList }): ReactNode {
  return (
    <div className="sticky top-[calc(2.75rem+8px)] z-10 h-0 self-center max-md:top-[calc(5rem+8px)]">
      <button
        type="button"
        className="inline-flex h-7 items-center gap-1.5 rounded-full bg-accent px-3 font-medium text-on-accent shadow-raised"
        onClick={list.showFresh}
      >
        <Icon name="up" className="size-3" />
        {countWords(list.fresh)} new
      </button>
    </div>
  );
}

function Foot({ list, total }: { readonly list: RunList; readonly total: number | null }): ReactNode {
  if (list.heads.length === 0) return null;
  return (
    <p className="py-3 text-center text-xs text-ink-3">
      {total !== null && total > list.heads.length
        ? `${countWords(list.heads.length)} of ${countWords(total)}`
        : counted(list.heads.length, "run")}
      {list.isFull &&
        list.hasMore &&
        ". More are not kept in this page: narrow the filter to see older ones."}
      {list.error !== null && ". The next ones could not be read."}
    </p>
  );
}

/** What can be done about the selected runs. */
type SelectionAction = BulkAction | "export";

const ACTION_WORDS: { readonly [Action in SelectionAction]: string } = {
  resume: "Resume…",
  cancel: "Cancel…",
  export: "Export…",
};

type BulkBarProps = {
  readonly count: number;
  readonly actions: readonly SelectionAction[];
  readonly onAction: (action: SelectionAction) => void;
  readonly onClear: () => void;
};

function BulkBar({ count, actions, onAction, onClear }: BulkBarProps): ReactNode {
  const isTooMany = count > MOST_AT_ONCE;
  return (
    <div
      role="toolbar"
      aria-label="Selected runs"
      className="sticky bottom-3 z-10 flex flex-wrap items-center gap-2 self-center rounded-lg border border-line bg-panel px-3 py-2 shadow-raised"
    >
      <span className="mr-1 font-medium">{countWords(count)} selected</span>
      {actions.map((action) => (
        <Button
          key={action}
          kind={action === "cancel" ? "danger" : "plain"}
          disabled={isTooMany}
          onClick={() => onAction(action)}
        >
          {ACTION_WORDS[action]}
        </Button>
      ))}
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
      {isTooMany && <span className="text-xs text-ink-3">at most {MOST_AT_ONCE} at once</span>}
    </div>
  );
}
