import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useRunHead } from "../../live/use-live.ts";

export type Comparison = Answer<"compareRuns">;
const PAGE = 20;

/** What two runs have in common and what not, without turns. It is read again when one of them moves. */
export function useComparison(a: string, b: string) {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const seqs = `${useRunHead(a)?.eventSeq} ${useRunHead(b)?.eventSeq}`;
  const shown = useRef(seqs);
  useEffect(() => {
    if (shown.current === seqs) return;
    shown.current = seqs;
    void queries.invalidateQueries({ queryKey: ["compare", a, b] }, { cancelRefetch: false });
  }, [queries, seqs, a, b]);
  return useQuery({
    queryKey: ["compare", a, b, "summary"],
    queryFn: ({ signal }) => client.compareRuns({ a, b, limit: 1, signal }),
  });
}

/** The turns of a comparison after a cursor, page by page. */
export function useComparedTurns({ a, b }: Pick<Comparison, "a" | "b">, after: string | null) {
  const { client } = useDashboard();
  return useInfiniteQuery({
    queryKey: ["compare", a, b, "turns", after],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.compareRuns({ a, b, limit: PAGE, ...(cursor === null ? {} : { cursor }), signal }),
    initialPageParam: after,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}
