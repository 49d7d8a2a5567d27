import type { Connect } from "../../../src/client/event-connection.ts";
import { stayConnected } from "./live-connection.ts";
import type { LiveStore } from "./live-store.ts";
import { SharedStream, type StreamListeners, type TabMessage } from "./shared-stream.ts";

const NAME = "pawl-live";
const HIDDEN_MS = 60_000;
const LOOK_MS = 5_000;

/** Fills the store from the stream until the signal ends it. */
export function startLive(store: LiveStore, connect: Connect, signal: AbortSignal): void {
  if ("locks" in navigator && "BroadcastChannel" in globalThis) shareStream(store, connect, signal);
  else ownStream(store, connect, signal);
}

function shareStream(store: LiveStore, connect: Connect, signal: AbortSignal): void {
  const channel = new BroadcastChannel(NAME);
  const stream = new SharedStream({
    store,
    now: Date.now,
    tab: crypto.randomUUID(),
    signal,
    send: (message) => channel.postMessage(message),
    lock: (how, work) => navigator.locks.request(NAME, how, work),
    read: (cursor, until, others) => read(store, connect, cursor, until, others),
  });
  channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => stream.hear(data));
  const timer = setInterval(() => stream.look(), LOOK_MS);
  signal.addEventListener("abort", () => {
    clearInterval(timer);
    channel.close();
  });
  document.addEventListener("freeze", () => stream.leave(), { signal });
  document.addEventListener("resume", () => stream.join(), { signal });
  globalThis.addEventListener("pagehide", () => stream.leave(), { signal });
  globalThis.addEventListener(
    "pageshow",
    ({ persisted }) => {
      if (!persisted) return;
      // What other tabs sent to a page that was not shown is lost.
      store.receive({ event: "reset", data: { why: "The page was not shown." } });
      stream.join();
    },
    { signal },
  );
  stream.join();
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

function read(
  store: LiveStore,
  connect: Connect,
  cursor: string | null,
  signal: AbortSignal,
  others: StreamListeners,
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
