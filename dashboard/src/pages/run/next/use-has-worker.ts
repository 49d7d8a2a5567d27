import { useQuery } from "@tanstack/react-query";
import type { RunHead } from "../../../api/documents.ts";
import { useDashboard } from "../../../live/dashboard-context.ts";

/** Whether a worker that has reported takes such runs; undefined until it is known. */
export function useHasWorker({ pipeline, queue }: Pick<RunHead, "pipeline" | "queue">): boolean | undefined {
  const { client } = useDashboard();
  const { data } = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => client.listWorkers({ signal }),
    refetchInterval: 15_000,
  });
  return data?.items.some(
    ({ isSilent, pipelines, queues }) => !isSilent && pipelines.includes(pipeline) && queues.includes(queue),
  );
}
