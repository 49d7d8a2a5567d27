import { type QueryKey, type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Client } from "../api/client.ts";
import { useDashboard } from "./dashboard-context.ts";
import { useLive } from "./use-live.ts";

/**
 * What the stream does not bring: workers, leases, schedules. It is asked for again each so often while the tab is seen, and at
 * once when runs change their status. The old stays on screen until then.
 */
export function useRefreshed<T>(
  key: QueryKey,
  everyMs: number,
  read: (client: Client, signal: AbortSignal) => Promise<T>,
): UseQueryResult<T> {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const { counts } = useLive();
  const known = useRef(counts);
  const latest = useRef(key);
  useEffect(() => {
    latest.current = key;
  });
  useEffect(() => {
    if (known.current === counts) return;
    const isFirst = known.current === null;
    known.current = counts;
    if (!isFirst) void queries.invalidateQueries({ queryKey: latest.current }, { cancelRefetch: false });
  }, [queries, counts]);
  return useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(client, signal),
    refetchInterval: everyMs,
    placeholderData: (before) => before,
  });
}
