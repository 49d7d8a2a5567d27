import { useEffect, useState } from "react";
import { pathOf } from "../../../api/client.ts";
import { readLive } from "../../../live/live-reader.ts";
import { retryDelayMs } from "../../../live/retry-delay.ts";
import { type LiveAnswer, liveAnswerAfter, type WatchedEvent } from "./live-answer.ts";

/** An event of `watch`; its data has the type as well. Types that are not about the answer are skipped. */
type Watched = { readonly event: string; readonly data: WatchedEvent };

const ABOUT = new Set<string>([
  "part",
  "attempt.withdrawn",
  "turn.journaled",
  "turn.dropped",
  "run.claimed",
  "run.ended",
  "run.waiting",
]);

/** The answer that is being written, while a worker has the run. */
export function useLiveAnswer(runId: string, isRunning: boolean): LiveAnswer | null {
  const [answer, setAnswer] = useState<LiveAnswer | null>(null);
  useEffect(() => {
    if (!isRunning) return;
    const left = new AbortController();
    void watch(runId, left.signal, (event) => setAnswer((known) => liveAnswerAfter(known, event)));
    return () => {
      left.abort();
      setAnswer(null);
    };
  }, [runId, isRunning]);
  return answer;
}

async function watch(
  runId: string,
  signal: AbortSignal,
  onEvent: (event: WatchedEvent) => void,
): Promise<void> {
  let cursor: string | null = null;
  for (let failures = 1; !signal.aborted; failures++) {
    const end = await readLive<Watched>({
      fetch: fetch.bind(globalThis),
      path: pathOf("watchRun", { runId }),
      cursor,
      signal,
      onSign: () => {
        failures = 1;
      },
      onEvent: ({ event, data }, id) => {
        if (id !== "") cursor = id;
        if (ABOUT.has(event)) onEvent(data);
      },
    });
    if (end.kind === "aborted" || (end.kind === "refused" && end.status < 500)) return;
    await new Promise((resolve) => setTimeout(resolve, retryDelayMs(failures, Math.random())));
  }
}
