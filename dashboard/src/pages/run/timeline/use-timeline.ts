import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDashboard } from "../../../app/dashboard-context.ts";
import { useRunQuery } from "../../../live/use-live.ts";
import type { FetchedWindow } from "./fetched-window.ts";
import type { Timeline } from "./timeline-documents.ts";

/** All of a run, with its shortest slices merged if there are many. */
export function useWholeTimeline(runId: string) {
  return useRunQuery(runId, ["timeline"], (client, signal) => client.getTimeline({ runId }, { signal }));
}

/** A window of the run in more detail; what is on screen stays until it is there. */
export function useTimelineWindow(runId: string, window: FetchedWindow | null): Timeline | undefined {
  const { client } = useDashboard();
  const { data } = useQuery({
    queryKey: ["run", runId, "timeline", window],
    queryFn: ({ signal }) => client.getTimeline({ runId, ...window }, { signal }),
    enabled: window !== null,
    placeholderData: keepPreviousData,
  });
  return window === null ? undefined : data;
}
