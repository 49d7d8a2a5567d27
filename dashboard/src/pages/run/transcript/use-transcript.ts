import { useEffect, useMemo, useSyncExternalStore } from "react";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { useLiveSignal } from "../../../live/use-live.ts";
import { TranscriptReader, type TranscriptState } from "./transcript-reader.ts";

/**
 * The transcript from its end backwards. `eventSeq` is that of the run: when it moves, the newest page is read again, since
 * calls and waits change after they were written.
 */
export function useTranscript(
  runId: string,
  eventSeq: number,
): TranscriptState & { readonly readEarlier: () => void; readonly retry: () => void } {
  const { client } = useDashboard();
  const reader = useMemo(
    () => new TranscriptReader((place) => client.getTranscript({ runId, ...place })),
    [client, runId],
  );
  const state = useSyncExternalStore(reader.onState, reader.state);
  useLiveSignal(({ kind }) => {
    if (kind === "reset") reader.doubt();
    if (kind === "back") reader.retry();
  });
  useEffect(() => reader.follow(), [reader, eventSeq]);
  return { ...state, readEarlier: reader.readEarlier, retry: reader.retry };
}
