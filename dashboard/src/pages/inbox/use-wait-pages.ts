import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Wait } from "../../api/documents.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useReadAfter } from "../../live/use-read-after.ts";

export type WaitFilter = { readonly kind: Wait["kind"][]; readonly runId?: string };

/** The most that the server gives at once. */
const OPEN_PAGE = 200;
/** Answers are seldom looked at. */
const ANSWERED_PAGE = 50;

export type WaitPages = {
  readonly waits: readonly Wait[];
  readonly isLoaded: boolean;
  readonly hasMore: boolean;
  readonly error: Error | null;
  readonly errorAt: number;
  /** The next page was refused. */
  readonly isStuck: boolean;
  readonly loadMore: () => void;
  readonly retry: () => void;
};

/**
 * The waits that were read so far, page after page: the open ones oldest first, so that new ones come behind what is being
 * read, and the answered ones newest first. All pages are read again when a wait is opened or answered anywhere.
 */
export function useWaitPages(status: "open" | "answered", filter: WaitFilter): WaitPages {
  const { client } = useDashboard();
  const pages = useInfiniteQuery({
    queryKey: ["waits", status, filter],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam: cursor, signal }) =>
      client.listWaits({
        status,
        ...filter,
        limit: status === "open" ? OPEN_PAGE : ANSWERED_PAGE,
        ...(cursor === null ? {} : { cursor }),
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });
  useReadAfter(pages, ({ kind }) => kind === "waits");
  const { data } = pages;
  const waits = useMemo(() => eachOnce(data?.pages.flatMap(({ items }) => items) ?? []), [data]);
  return {
    waits,
    isLoaded: data !== undefined,
    hasMore: pages.hasNextPage,
    error: pages.error,
    errorAt: pages.errorUpdatedAt,
    isStuck: pages.isFetchNextPageError,
    loadMore: () => {
      // A page that was refused would be asked for again at once: the button asks for it.
      if (pages.hasNextPage && !pages.isFetching && !pages.isFetchNextPageError) void pages.fetchNextPage();
    },
    retry: () => void pages.refetch(),
  };
}

/** Waits of the same time may be on two pages, if the run of the last one was deleted meanwhile. */
function eachOnce(waits: readonly Wait[]): readonly Wait[] {
  return [...new Map(waits.map((wait) => [wait.waitId, wait])).values()];
}
