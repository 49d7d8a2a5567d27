import { useRunQuery } from "../../../live/use-live.ts";
import type { FetchedWindow } from "./fetched-window.ts";
import type { Timeline } from "./timeline-documents.ts";

/** All of a run, with its shortest slices merged if there are many. */
export function useWholeTimeline(runId: string, enabled = true) {
  return useRunQuery(runId, ["timeline"], (client, signal) => client.getTimeline({ runId, signal }), {
    enabled,
  });
}

/** A window of the run in more detail, read again while the run moves; what is on screen stays until it is there. */
export function useTimelineWindow(runId: string, window: FetchedWindow | null): Timeline | undefined {
  const { data } = useRunQuery(
    runId,
    ["timeline", window],
    (client, signal) => client.getTimeline({ runId, ...window, signal }),
    { enabled: window !== null, keepsPrevious: true },
  );
  return window === null ? undefined : data;
}
