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

/** Keeps what was fetched of a run while its head moves: it is fetched again, and the old stays on screen until then. */
export function useRunQuery<T>(
  runId: string,
  key: QueryKey,
  read: (client: Client, signal: AbortSignal) => Promise<T>,
): UseQueryResult<T> {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const seq = useRunHead(runId)?.eventSeq;
  const queryKey = ["run", runId, ...key];
  const shown = useRef(seq);
  useEffect(() => {
    if (shown.current === seq) return;
    shown.current = seq;
    void queries.invalidateQueries(
      { queryKey: ["run", runId], refetchType: "active" },
      { cancelRefetch: false },
    );
  }, [queries, runId, seq]);
  return useQuery({ queryKey, queryFn: ({ signal }) => read(client, signal) });
}
