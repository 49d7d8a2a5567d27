import { useEffect, useRef } from "react";
import type { LiveSignal } from "./live-store.ts";
import { useLiveSignal } from "./use-live.ts";

type Reading = { readonly isFetching: boolean; readonly refetch: () => Promise<unknown> };

/**
 * Reads again after news of the stream. One reading after the other: what changes faster than it is read would cancel each of
 * them, and nothing would ever be shown.
 */
export function useReadAfter(
  { isFetching, refetch }: Reading,
  isNews: (signal: LiveSignal) => boolean,
): void {
  const isStale = useRef(false);
  useLiveSignal((signal) => {
    if (!isNews(signal)) return;
    if (isFetching) isStale.current = true;
    else void refetch();
  });
  useEffect(() => {
    if (isFetching || !isStale.current) return;
    isStale.current = false;
    void refetch();
  }, [isFetching, refetch]);
}
