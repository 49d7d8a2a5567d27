import { useQueries } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Answer } from "../../../api/client.ts";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { CHUNK, isBehind, type LogChunk } from "./log-chunks.ts";

type LogEvent = Answer<"listEvents">["items"][number];

/**
 * The events of some chunks, by their numbers. What is written never changes, so that only a chunk that has grown is read again:
 * one request after the other, and what is held of it stays on screen meanwhile. A key with the end of the chunk in it would make
 * each commit another query, which begins with nothing and aborts the one before it.
 */
export function useEvents(
  runId: string,
  chunks: readonly LogChunk[],
): {
  readonly events: ReadonlyMap<number, LogEvent>;
  readonly error: Error | null;
  readonly retry: () => void;
} {
  const { client } = useDashboard();
  const unique = [...new Map(chunks.map((chunk) => [chunk.after, chunk])).values()];
  const results = useQueries({
    queries: unique.map(({ after }) => ({
      queryKey: ["events", runId, after],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        client.listEvents({ runId, after, limit: CHUNK, signal }),
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  /** How far a chunk was asked for. What fails is not asked for again until the log grows. */
  const asked = useRef(new Map<number, number>());
  useEffect(() => {
    for (const [index, chunk] of unique.entries()) {
      const result = results[index];
      if (result === undefined || result.isFetching || !isBehind(chunk, result.data?.items ?? [])) continue;
      if (asked.current.get(chunk.after) === chunk.upTo) continue;
      asked.current.set(chunk.after, chunk.upTo);
      void result.refetch({ cancelRefetch: false });
    }
  });
  return {
    events: new Map(results.flatMap(({ data }) => data?.items.map((event) => [event.seq, event]) ?? [])),
    error: results.find(({ error }) => error !== null)?.error ?? null,
    retry: () => {
      for (const result of results) if (result.error !== null) void result.refetch();
    },
  };
}
