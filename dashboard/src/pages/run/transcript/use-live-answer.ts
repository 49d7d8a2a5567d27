import { useEffect, useState } from "react";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { readInOneTab } from "../../../live/one-tab.ts";
import { type LiveAnswer, showAnswer } from "./live-answer.ts";

/** The answer that is being written, while a worker has the run. */
export function useLiveAnswer(runId: string, isRunning: boolean): LiveAnswer | null {
  const { client } = useDashboard();
  const [answer, setAnswer] = useState<LiveAnswer | null>(null);
  useEffect(() => {
    if (!isRunning) return;
    const left = new AbortController();
    readInOneTab(left.signal, (signal) => showAnswer(client.watchRun({ runId, signal }), setAnswer));
    return () => {
      left.abort();
      setAnswer(null);
    };
  }, [client, runId, isRunning]);
  return answer;
}
