import type { ReactNode } from "react";
import type { Connection } from "../live/live-store.ts";
import { useLive } from "../live/use-live.ts";
import { useBrowserNow } from "../live/use-now.ts";
import { clockWords, durationWords } from "../parts/time-words.ts";

/** A connection that is lost for longer is not coming back by itself soon. */
const OFFLINE_MS = 30_000;

/** Whether the page follows the store: `● live`, `◌ reconnecting, 4 s old`, `○ offline since 12:03`. */
export function LiveLine(): ReactNode {
  const { connection } = useLive();
  const now = useBrowserNow();
  const { mark, words, look } = liveWords(connection, now);
  return (
    <span
      role="status"
      aria-live="polite"
      className={`inline-flex items-center gap-1.5 whitespace-nowrap ${look}`}
    >
      <span aria-hidden="true">{mark}</span>
      {words}
    </span>
  );
}

export function liveWords(
  connection: Connection,
  now: number,
): { readonly mark: string; readonly words: string; readonly look: string } {
  switch (connection.status) {
    case "live":
      return { mark: "●", words: "live", look: "text-succeeded" };
    case "connecting":
      return { mark: "◌", words: "connecting", look: "text-ink-3" };
    case "signed_out":
      return { mark: "○", words: "signed out", look: "text-failed" };
    case "lost": {
      const { since, lastSignAt } = connection;
      if (now - since > OFFLINE_MS)
        return { mark: "○", words: `offline since ${clockWords(since)}`, look: "text-failed" };
      const age = durationWords(Math.max(1_000, now - (lastSignAt ?? since)));
      return { mark: "◌", words: `reconnecting, ${age} old`, look: "text-interrupted" };
    }
  }
}
