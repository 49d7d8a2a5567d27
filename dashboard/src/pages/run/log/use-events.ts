import { useQueries } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Answer } from "../../../api/client.ts";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { AskedChunks } from "./asked-chunks.ts";
import { CHUNK, type LogChunk } from "./log-chunks.ts";

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
  const asked = useRef(new AskedChunks());
  useEffect(() => {
    const seen = unique.map((chunk, index) => {
      const { data, isFetching = true } = results[index] ?? {};
      return { chunk, held: data?.items ?? [], isFetching };
    });
    const due = new Set(asked.current.due(seen));
    for (const [index, chunk] of unique.entries())
      if (due.has(chunk)) void results[index]?.refetch({ cancelRefetch: false });
  });
  return {
    events: new Map(results.flatMap(({ data }) => data?.items.map((event) => [event.seq, event]) ?? [])),
    error: results.find(({ error }) => error !== null)?.error ?? null,
    retry: () => {
      for (const result of results) if (result.error !== null) void result.refetch();
    },
  };
}
