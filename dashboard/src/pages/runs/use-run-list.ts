import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Answer } from "../../api/client.ts";
import type { RunHead } from "../../api/documents.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useLiveSignal } from "../../live/use-live.ts";
import { isInFilter, type RunFilter, runQuery } from "./run-filter.ts";

type RunPages = InfiniteData<Answer<"listRuns">, string | null>;

/** Rows that a list keeps. A reader of more wants a filter. */
const MOST_ROWS = 2_000;
const PAGE = 50;

export type RunList = {
  readonly heads: readonly RunHead[];
  readonly isLoaded: boolean;
  readonly error: Error | null;
  readonly errorAt: number;
  readonly hasMore: boolean;
  readonly isFull: boolean;
  readonly loadMore: () => void;
  readonly retry: () => void;
  /** Runs that belong here and came after the list was read: they do not move what is being read. */
  readonly fresh: number;
  readonly showFresh: () => void;
};

export function useRunList(filter: RunFilter): RunList {
  const { client, live } = useDashboard();
  const queries = useQueryClient();
  const query = useMemo(() => runQuery(filter, Date.now()), [filter]);
  const queryKey = ["runs", query];
  const result = useInfiniteQuery({
    queryKey,
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) => {
      const page = await client.listRuns({
        ...query,
        limit: PAGE,
        ...(pageParam === null ? {} : { cursor: pageParam }),
        signal,
      });
      live.learn(page.items);
      return page;
    },
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  const heads = useMemo(
    () => eachOnce(result.data?.pages.flatMap(({ items }) => items) ?? []),
    [result.data],
  );
  const [fresh, addFresh, clearFresh] = useFreshRuns(heads, filter, query, result.hasNextPage);
  useLiveSignal((signal) => {
    if (signal.kind === "head" && result.data !== undefined) addFresh(signal.head);
    if (signal.kind === "gone") void result.refetch({ cancelRefetch: false });
  });
  const isFull = heads.length >= MOST_ROWS;
  return {
    heads,
    isLoaded: result.data !== undefined,
    error: result.error,
    errorAt: result.errorUpdatedAt,
    hasMore: result.hasNextPage,
    isFull,
    loadMore: () => {
      // A page that was refused would be asked for again at once: the button asks for it.
      const mayAsk = result.hasNextPage && !result.isFetching && !result.isFetchNextPageError;
      if (mayAsk && !isFull) void result.fetchNextPage();
    },
    retry: () => void result.refetch(),
    fresh,
    showFresh: () => {
      clearFresh();
      queries.setQueryData<RunPages>(
        queryKey,
        (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
      );
      void result.refetch();
      scrollTo({ top: 0 });
    },
  };
}

/** A run may be on two pages that were read at different times. */
function eachOnce(heads: readonly RunHead[]): readonly RunHead[] {
  return [...new Map(heads.map((head) => [head.runId, head])).values()];
}

/** Counts runs that are not in the list. Another filter begins again, and what a new reading brought is not new any more. */
function useFreshRuns(heads: readonly RunHead[], filter: RunFilter, list: object, hasMore: boolean) {
  const none = { of: list, ids: new Set<string>() };
  const [fresh, setFresh] = useState(none);
  const shown = useMemo(() => new Set(heads.map(({ runId }) => runId)), [heads]);
  const count = fresh.of === list ? [...fresh.ids].filter((id) => !shown.has(id)).length : 0;
  const add = (head: RunHead): void => {
    // It comes with a later page, if there is one.
    const isBelow = hasMore && head.createdAt < (heads.at(-1)?.createdAt ?? "");
    if (shown.has(head.runId) || isBelow || !isInFilter(head, filter, Date.now())) return;
    setFresh((before) => ({
      of: list,
      ids: new Set([...(before.of === list ? before.ids : []), head.runId]),
    }));
  };
  return [count, add, () => setFresh(none)] as const;
}
