import type { ReactNode } from "react";
import type { Connection } from "../live/live-store.ts";
import { useLive } from "../live/use-live.ts";
import { useBrowserNow } from "../live/use-now.ts";
import { clockWords, durationWords } from "../words/time-words.ts";

/** Drawn, as not every font has them: ●, ◌ and ○. */
const MARKS = { full: "bg-current", dotted: "border border-dotted breathing", hollow: "border" } as const;

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
      <span aria-hidden="true" className={`size-2 rounded-full border-current ${MARKS[mark]}`} />
      {words}
    </span>
  );
}

function liveWords(
  connection: Connection,
  now: number,
): { readonly mark: keyof typeof MARKS; readonly words: string; readonly look: string } {
  switch (connection.status) {
    case "live":
      return { mark: "full", words: "live", look: "text-succeeded" };
    case "connecting":
      return { mark: "dotted", words: "connecting", look: "text-ink-3" };
    case "signed_out":
      return { mark: "hollow", words: "signed out", look: "text-failed" };
    case "lost": {
      const { since, lastSignAt } = connection;
      if (now - since > OFFLINE_MS)
        return { mark: "hollow", words: `offline since ${clockWords(since)}`, look: "text-failed" };
      const age = durationWords(Math.max(1_000, now - (lastSignAt ?? since)));
      return { mark: "dotted", words: `reconnecting, ${age} old`, look: "text-interrupted" };
    }
  }
}
