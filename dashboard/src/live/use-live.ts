import { type QueryKey, type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import type { Client } from "../api/client.ts";
import type { RunHead } from "../api/documents.ts";
import { useDashboard } from "../app/dashboard-context.ts";
import type { LiveSignal, LiveState } from "./live-store.ts";

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

type ReadAt<T> = { readonly seq: number; readonly value: T };

function valueOf<T>({ value }: ReadAt<T>): T {
  return value;
}

/**
 * Something of a run that is read again when its head moves; the old stays on screen until then. One request after the other:
 * a run that commits faster than it can be read is read as often as possible, and what is shown at the end is the end.
 */
export function useRunQuery<T>(
  runId: string,
  key: QueryKey,
  read: (client: Client, signal: AbortSignal) => Promise<T>,
): UseQueryResult<T> {
  const { client, live } = useDashboard();
  const queries = useQueryClient();
  const seq = useRunHead(runId)?.eventSeq ?? 0;
  const queryKey = ["run", runId, ...key];
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }): Promise<ReadAt<T>> => {
      const known = live.head(runId)?.eventSeq ?? 0;
      return { seq: known, value: await read(client, signal) };
    },
    select: valueOf<T>,
  });
  const asked = useRef(0);
  const { isFetching, refetch } = query;
  useEffect(() => {
    const readAt = queries.getQueryData<ReadAt<T>>(queryKey)?.seq ?? seq;
    if (isFetching || readAt >= seq || asked.current === seq) return;
    asked.current = seq;
    void refetch();
  });
  return query;
}
