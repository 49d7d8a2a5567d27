import { type Connect, connectedEvents, serverEvent } from "../../../src/client/event-connection.ts";
import { PawlProblem } from "../api/client.ts";
import type { LiveEvent } from "../api/documents.ts";
import type { Connection } from "./live-store.ts";

export type LiveConnection = {
  readonly connect: Connect;
  readonly cursor: string | null;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Resolves after the time, or at once when the browser is back online or its tab is looked at. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onConnection: (connection: Connection) => void;
  readonly onEvent: (event: LiveEvent, id: string | null) => void;
};

const FROM_NOW: LiveEvent = { event: "reset", data: { why: "The stream begins now." } };

/** Reads the stream for as long as the signal allows, and comes back after every end but that of the session. */
export async function stayConnected({ cursor, ...options }: LiveConnection): Promise<void> {
  const { connect, signal, now, pause, onConnection, onEvent } = options;
  let lastId = cursor;
  let lastSignAt: number | null = null;
  let lostSince: number | null = null;
  const onSign = (): void => {
    if (lostSince !== null || lastSignAt === null) onConnection({ status: "live" });
    lastSignAt = now();
    lostSince = null;
  };
  const onLost = (): void => {
    lostSince ??= now();
    onConnection({ status: "lost", since: lostSince, lastSignAt });
  };
  const isFinal = ({ status }: PawlProblem): boolean => status === 401;
  try {
    for await (const event of connectedEvents({
      connect,
      signal,
      lastId,
      pause,
      isFinal,
      onSign,
      onLost,
    })) {
      onEvent(serverEvent(event), event.id);
      // What changed before the first event of a new stream is in no event.
      if (lastId === null && event.event === "hello") onEvent(FROM_NOW, null);
      lastId = event.id ?? lastId;
    }
  } catch (error) {
    if (!(error instanceof PawlProblem)) throw error;
    onConnection({ status: "signed_out" });
  }
}
