import type { LiveEvent } from "../api/documents.ts";
import { readLive } from "./live-reader.ts";
import type { Connection } from "./live-store.ts";
import { retryDelayMs } from "./retry-delay.ts";

export type LiveConnection = {
  readonly fetch: typeof fetch;
  readonly path: string;
  readonly cursor: string | null;
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
  /** Resolves after the time, or at once when the browser is back online or its tab is looked at. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onConnection: (connection: Connection) => void;
  readonly onEvent: (event: LiveEvent, id: string) => void;
};

const FROM_NOW: LiveEvent = { event: "reset", data: { why: "The stream begins now." } };

/** Reads the stream for as long as the signal allows, and comes back after every kind of end. */
export async function stayConnected(options: LiveConnection): Promise<void> {
  let { cursor } = options;
  let failures = 0;
  let lastSignAt: number | null = null;
  let lostSince: number | null = null;
  while (!options.signal.aborted) {
    const isFromNow = cursor === null;
    const end = await readLive({
      ...options,
      cursor,
      onSign: () => {
        if (lostSince !== null || lastSignAt === null) options.onConnection({ status: "live" });
        lastSignAt = options.now();
        lostSince = null;
        failures = 0;
      },
      onEvent: (event, id) => {
        if (id !== "") cursor = id;
        options.onEvent(event, id);
        // What changed before the first event of a new stream is in no event.
        if (isFromNow && event.event === "hello") options.onEvent(FROM_NOW, "");
      },
    });
    if (end.kind === "aborted") return;
    if (end.kind === "refused" && end.status === 401) {
      options.onConnection({ status: "signed_out" });
      return;
    }
    failures += 1;
    lostSince ??= options.now();
    options.onConnection({ status: "lost", since: lostSince, lastSignAt });
    await options.pause(retryDelayMs(failures, options.random()), options.signal);
  }
}
