import {
  hashKey,
  type InfiniteData,
  keepPreviousData,
  type QueryKey,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { type Client, PawlProblem } from "../api/client.ts";
import type { RunHead } from "../api/documents.ts";
import { useDashboard } from "./dashboard-context.ts";
import type { LiveSignal, LiveState, LiveStore } from "./live-store.ts";

export function useLive(): LiveState {
  const { live } = useDashboard();
  return useSyncExternalStore(live.onState, live.state);
}

/** The newest known head of a run; `fetched` until the stream has a newer one. Only this run's changes render the caller. */
export function useRunHead(runId: string, fetched: RunHead): RunHead;
export function useRunHead(runId: string): RunHead | undefined;
export function useRunHead(runId: string, fetched?: RunHead): RunHead | undefined {
  const { live } = useDashboard();
  const subscribe = useCallback((listener: () => void) => live.onRun(runId, listener), [live, runId]);
  return useSyncExternalStore(subscribe, () => live.head(runId)) ?? fetched;
}

/** Calls back for each signal of the stream, without rendering. */
export function useLiveSignal(onSignal: (signal: LiveSignal) => void): void {
  const { live } = useDashboard();
  const latest = useRef(onSignal);
  useEffect(() => {
    latest.current = onSignal;
  });
  useEffect(() => live.onSignal((signal) => latest.current(signal)), [live]);
}

/** What was read, and the head that was known before it. */
type ReadAt<T> = Moment & { readonly value: T };

/** A worker that dies changes the status of its run, and not the number of its last event. */
type Moment = { readonly seq: number; readonly status: RunHead["status"] | null };

function momentOf(live: LiveStore, runId: string): Moment {
  return { seq: live.seqOf(runId), status: live.head(runId)?.status ?? null };
}

function valueOf<T>({ value }: ReadAt<T>): T {
  return value;
}

/**
 * Something of a run that is read again when its head moves, or has another status: a run whose worker died is interrupted
 * without a further event. The old stays on screen until then. One request after the other:
 * a run that commits faster than it can be read is read as often as possible, and what is shown at the end is the end.
 */
export function useRunQuery<T>(
  runId: string,
  key: QueryKey,
  read: (client: Client, signal: AbortSignal) => Promise<T>,
  options: { readonly enabled?: boolean; readonly keepsPrevious?: boolean } = {},
): UseQueryResult<T> {
  const { client, live } = useDashboard();
  const queries = useQueryClient();
  const queryKey = ["run", runId, ...key];
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }): Promise<ReadAt<T>> => {
      const at = momentOf(live, runId);
      return { ...at, value: await read(client, signal) };
    },
    select: valueOf<T>,
    enabled: options.enabled ?? true,
    ...(options.keepsPrevious === true ? { placeholderData: keepPreviousData } : {}),
  });
  useReadAgain(runId, queryKey, query, () => queries.getQueryData<ReadAt<T>>(queryKey));
  return query;
}

/** The same for a list in pages, all of which are read again. */
export function useRunPages<T extends { readonly nextCursor: string | null }>(
  runId: string,
  key: QueryKey,
  read: (client: Client, place: { readonly cursor?: string }, signal: AbortSignal) => Promise<T>,
) {
  type Pages = InfiniteData<ReadAt<T>, string | null>;
  const { client, live } = useDashboard();
  const queries = useQueryClient();
  const queryKey = ["run", runId, ...key];
  const query = useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam: cursor, signal }): Promise<ReadAt<T>> => {
      const at = momentOf(live, runId);
      return { ...at, value: await read(client, cursor === null ? {} : { cursor }, signal) };
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ value }) => value.nextCursor,
  });
  useReadAgain(runId, queryKey, query, () => queries.getQueryData<Pages>(queryKey)?.pages[0]);
  const { data } = query;
  const pages = useMemo(() => data?.pages.map(valueOf<T>), [data]);
  return { ...query, pages };
}

type Reading = {
  readonly isFetching: boolean;
  readonly error: Error | null;
  readonly refetch: () => Promise<unknown>;
};

/** What fails while the stream is whole is asked for again after this. */
const AGAIN_MS = 5_000;

/** Reads again if the head of the run is not the one of what was read. */
function useReadAgain(
  runId: string,
  queryKey: QueryKey,
  { isFetching, error, refetch }: Reading,
  readAt: () => Moment | undefined,
): void {
  const mayPass = error !== null && !(error instanceof PawlProblem && !error.recoverable);
  useEffect(() => {
    if (!mayPass || isFetching) return;
    const timer = setTimeout(() => void refetch(), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [mayPass, isFetching, refetch]);
  const head = useRunHead(runId);
  const [seq, status] = [head?.eventSeq ?? 0, head?.status ?? null];
  const asked = useRef("");
  useEffect(() => {
    const known = readAt();
    if (isFetching || known === undefined || known.seq > seq) return;
    const question = `${hashKey(queryKey)} ${seq} ${status}`;
    if ((known.seq === seq && known.status === status) || asked.current === question) return;
    asked.current = question;
    void refetch();
  });
}
