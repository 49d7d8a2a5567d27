import type { Connect } from "../../../src/client/event-connection.ts";
import type { LiveEvent } from "../api/documents.ts";
import { stayConnected } from "./live-connection.ts";
import type { Connection, LiveState, LiveStore } from "./live-store.ts";

// One stream a browser: six of them would stall every other request to the server. The tab that holds the lock reads it, and
// sends its events to the others. When that tab closes, the browser gives the lock to the next one, which resumes from the last event.

const NAME = "pawl-live";
const HIDDEN_MS = 60_000;

type TabMessage =
  | { readonly kind: "event"; readonly id: string | null; readonly event: LiveEvent }
  | { readonly kind: "connection"; readonly connection: Connection }
  /** A tab that was just opened asks for what it missed. */
  | { readonly kind: "ask" }
  | { readonly kind: "state"; readonly cursor: string | null; readonly state: LiveState };

/** Fills the store from the stream until the signal ends it. */
export function startLive(store: LiveStore, connect: Connect, signal: AbortSignal): void {
  if ("locks" in navigator && "BroadcastChannel" in globalThis) shareStream(store, connect, signal);
  else ownStream(store, connect, signal);
}

function shareStream(store: LiveStore, connect: Connect, signal: AbortSignal): void {
  const channel = new BroadcastChannel(NAME);
  const send = (message: TabMessage): void => channel.postMessage(message);
  let cursor: string | null = null;
  let isLeader = false;
  channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if (data.kind === "ask") {
      if (isLeader) send({ kind: "state", cursor, state: store.state() });
    } else if (!isLeader) {
      cursor = hear(store, data) ?? cursor;
    }
  });
  signal.addEventListener("abort", () => channel.close());
  send({ kind: "ask" });
  const lead = async (): Promise<void> => {
    isLeader = true;
    await read(store, connect, cursor, signal, {
      onEvent: (event, id) => {
        cursor = id ?? cursor;
        send({ kind: "event", id, event });
      },
      onConnection: (connection) => send({ kind: "connection", connection }),
    });
  };
  // Aborting is how waiting for the lock ends when the person signs out.
  navigator.locks.request(NAME, { signal }, lead).catch(() => undefined);
}

/** Takes what the leading tab says. Returns the id to resume from, if it says one. */
function hear(store: LiveStore, message: Exclude<TabMessage, { kind: "ask" }>): string | null {
  switch (message.kind) {
    case "connection":
      store.connected(message.connection);
      return null;
    case "event":
      store.receive(message.event);
      return message.id;
    case "state": {
      const { connection, counts, openWaits, version } = message.state;
      store.connected(connection);
      if (counts !== null) store.receive({ event: "counts", data: counts });
      if (openWaits !== null) store.receive({ event: "waits", data: { open: openWaits } });
      store.adopt({ version: version?.now ?? null, skewMs: message.state.skewMs });
      return message.cursor;
    }
  }
}

/** Browsers have no locks on plain HTTP beyond this machine. A tab that is hidden for a minute gives its stream up. */
function ownStream(store: LiveStore, connect: Connect, signal: AbortSignal): void {
  let cursor: string | null = null;
  let reading: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const follow = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") {
      timer = setTimeout(() => reading?.abort(), HIDDEN_MS);
    } else if (reading === null || reading.signal.aborted) {
      reading = new AbortController();
      void read(store, connect, cursor, AbortSignal.any([signal, reading.signal]), {
        onEvent: (_event, id) => {
          cursor = id ?? cursor;
        },
        onConnection: () => undefined,
      });
    }
  };
  document.addEventListener("visibilitychange", follow, { signal });
  follow();
}

type Listeners = {
  readonly onEvent: (event: LiveEvent, id: string | null) => void;
  readonly onConnection: (connection: Connection) => void;
};

function read(
  store: LiveStore,
  connect: Connect,
  cursor: string | null,
  signal: AbortSignal,
  others: Listeners,
): Promise<void> {
  return stayConnected({
    connect,
    cursor,
    signal,
    now: Date.now,
    pause: pauseUntilWoken,
    onConnection: (connection) => {
      store.connected(connection);
      others.onConnection(connection);
    },
    onEvent: (event, id) => {
      store.receive(event);
      others.onEvent(event, id);
    },
  });
}

function pauseUntilWoken(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = new AbortController();
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      done.abort();
      resolve();
    }
    const until = { signal: done.signal };
    globalThis.addEventListener("online", end, until);
    document.addEventListener(
      "visibilitychange",
      () => document.visibilityState === "visible" && end(),
      until,
    );
    signal.addEventListener("abort", end, until);
  });
}
