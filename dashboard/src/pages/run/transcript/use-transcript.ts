import { useCallback, useEffect, useRef, useState } from "react";
import { useDashboard } from "../../../app/dashboard-context.ts";
import type { KnownTranscript } from "./transcript-pages.ts";
import { withEarlier, withLater, withNewest } from "./transcript-pages.ts";

const PAGE = 50;
const AT_ONCE = 200;

const NOTHING: KnownTranscript = { items: [], before: null, after: null };

export type TranscriptState = {
  readonly known: KnownTranscript;
  readonly isRead: boolean;
  readonly error: Error | null;
  readonly isReadingEarlier: boolean;
  readonly readEarlier: () => void;
  readonly retry: () => void;
};

/**
 * The transcript from its end backwards. `eventSeq` is that of the run: when it moves, the newest page is read again, since
 * calls and waits change after they were written. What is on screen stays, and keeps its place.
 */
export function useTranscript(runId: string, eventSeq: number): TranscriptState {
  const { client } = useDashboard();
  const [known, setKnown] = useState(NOTHING);
  const [isRead, setRead] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [tries, setTries] = useState(0);
  const [isReadingEarlier, setReadingEarlier] = useState(false);
  const latest = useRef(known);
  const learn = useCallback((next: KnownTranscript) => {
    latest.current = next;
    setKnown(next);
  }, []);
  const isReading = useRef(false);
  const isStale = useRef(false);
  useEffect(() => {
    const read = async (): Promise<void> => {
      const newest = await client.getTranscript({ runId, limit: PAGE });
      let joined = withNewest(latest.current, newest);
      while (joined === null) {
        const { after } = latest.current;
        const page = await client.getTranscript({
          runId,
          limit: AT_ONCE,
          ...(after === null ? {} : { after }),
        });
        learn(withLater(latest.current, page));
        joined = withNewest(latest.current, newest);
        if (page.items.length === 0) break;
      }
      if (joined !== null) learn(joined);
    };
    const readWhileStale = async (): Promise<void> => {
      isReading.current = true;
      try {
        do {
          isStale.current = false;
          await read();
        } while (isStale.current);
        setError(null);
        setRead(true);
      } catch (thrown) {
        setError(asError(thrown));
      } finally {
        isReading.current = false;
      }
    };
    // One reader at a time: what moves while it reads makes it read once more.
    if (isReading.current) isStale.current = true;
    else void readWhileStale();
  }, [client, runId, eventSeq, tries, learn]);
  const readEarlier = useCallback(() => {
    const { before } = latest.current;
    if (before === null || isReadingEarlier) return;
    setReadingEarlier(true);
    client
      .getTranscript({ runId, before, limit: PAGE })
      .then((page) => learn(withEarlier(latest.current, page)))
      .catch((thrown: unknown) => setError(asError(thrown)))
      .finally(() => setReadingEarlier(false));
  }, [client, runId, isReadingEarlier, learn]);
  return { known, isRead, error, isReadingEarlier, readEarlier, retry: () => setTries(tries + 1) };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
