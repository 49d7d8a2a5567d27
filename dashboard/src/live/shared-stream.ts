import type { LiveEvent } from "../api/documents.ts";
import type { Connection, LiveState, LiveStore } from "./live-store.ts";

/** A browser slows down the timers of a hidden tab, but not its messages: so a tab that leads is asked whether it does. */
const ASK_AFTER_MS = 15_000;
/** A tab that leads and is silent for longer hangs, or the browser has frozen it. As long as a silent server is waited for. */
const SILENT_AFTER_MS = 35_000;

export type TabMessage =
  | { readonly kind: "event"; readonly id: string | null; readonly event: LiveEvent }
  | { readonly kind: "connection"; readonly connection: Connection }
  /** A tab that was just opened asks for what it missed. */
  | { readonly kind: "ask"; readonly tab: string }
  /** The answer, for one tab; for all of them without one. */
  | {
      readonly kind: "state";
      readonly tab: string | null;
      readonly cursor: string | null;
      readonly state: LiveState;
    }
  /** Does a tab lead? One that does is alive. */
  | { readonly kind: "ping" }
  | { readonly kind: "alive" };

/** Hears what the stream brings. */
export type StreamListeners = {
  readonly onEvent: (event: LiveEvent, id: string | null) => void;
  readonly onConnection: (connection: Connection) => void;
};

export type SharedStreamParts = {
  readonly store: LiveStore;
  readonly now: () => number;
  /** A name of this tab that no other one has. */
  readonly tab: string;
  /** The person has signed out. */
  readonly signal: AbortSignal;
  /** To all other tabs. */
  readonly send: (message: TabMessage) => void;
  /** Works while it has the lock that one tab of the browser can have. Rejects if another tab takes it meanwhile. */
  readonly lock: (
    how: { readonly signal: AbortSignal } | { readonly steal: true },
    work: () => Promise<void>,
  ) => Promise<void>;
  /** Fills the store from the stream, from behind the cursor, until the signal ends it. */
  readonly read: (cursor: string | null, signal: AbortSignal, others: StreamListeners) => Promise<void>;
};

/**
 * One stream a browser: six of them would stall every other request to the server. The tab that holds the lock reads it, and
 * sends its events to the others. When that tab closes, the browser gives the lock to the next one, which resumes from the last
 * event. When it hangs, another one takes the lock: that ends its reading as soon as it moves again.
 */
export class SharedStream {
  readonly #parts: SharedStreamParts;
  #cursor: string | null = null;
  /** Ends the time in which this tab leads; null while it follows. */
  #term: AbortController | null = null;
  /** Ends waiting for the lock. */
  #turn = new AbortController();
  #heardAt = 0;
  #hasAsked = false;

  constructor(parts: SharedStreamParts) {
    this.#parts = parts;
  }

  /** Asks what it missed, and waits for its turn to lead. */
  join(): void {
    const { send, tab } = this.#parts;
    if (this.#term !== null) return;
    this.#heard();
    send({ kind: "ask", tab });
    this.#turn.abort();
    this.#turn = new AbortController();
    void this.#request({ signal: AbortSignal.any([this.#parts.signal, this.#turn.signal]) });
  }

  /** The browser is about to freeze the tab: another one has to lead. */
  leave(): void {
    this.#turn.abort();
    this.#term?.abort();
    this.#term = null;
  }

  /** Called each few seconds: a tab that follows notices that none leads. */
  look(): void {
    const { store, now, send } = this.#parts;
    const { status } = store.state().connection;
    if (this.#term !== null || status === "signed_out") return;
    const silentMs = now() - this.#heardAt;
    if (silentMs >= SILENT_AFTER_MS && this.#hasAsked) {
      if (status === "live") store.connected({ status: "lost", since: now(), lastSignAt: this.#heardAt });
      this.#takeOver();
    } else if (silentMs >= ASK_AFTER_MS) {
      this.#hasAsked = true;
      send({ kind: "ping" });
    }
  }

  /** Another tab has sent something. */
  hear(message: TabMessage): void {
    if (this.#term !== null) this.#hearAsLeader(message);
    else if (message.kind !== "ask" && message.kind !== "ping") this.#hearAsFollower(message);
  }

  #hearAsLeader(message: TabMessage): void {
    if (message.kind === "ask") this.#sendState(message.tab);
    else if (message.kind === "ping") this.#parts.send({ kind: "alive" });
    // A tab that hung until now does not know yet that it lost the lock. What it has just sent to the others may be old.
    else if (message.kind === "event" || message.kind === "connection") this.#sendState(null);
  }

  #sendState(tab: string | null): void {
    const { store, send } = this.#parts;
    send({ kind: "state", tab, cursor: this.#cursor, state: store.state() });
  }

  #hearAsFollower(message: Exclude<TabMessage, { kind: "ask" | "ping" }>): void {
    const { store, tab } = this.#parts;
    this.#heard();
    switch (message.kind) {
      case "alive":
        return;
      case "connection":
        store.connected(message.connection);
        return;
      case "event":
        store.receive(message.event);
        this.#cursor = message.id ?? this.#cursor;
        return;
      case "state":
        // Those of others have what they need, and would read their pages again.
        if (message.tab !== null && message.tab !== tab) return;
        this.#cursor = message.cursor ?? this.#cursor;
        adopt(store, message.state);
        return;
    }
  }

  #heard(): void {
    this.#heardAt = this.#parts.now();
    this.#hasAsked = false;
  }

  #takeOver(): void {
    this.#turn.abort();
    this.#heard();
    void this.#request({ steal: true });
  }

  async #request(how: { readonly signal: AbortSignal } | { readonly steal: true }): Promise<void> {
    const term = new AbortController();
    let wasTaken = false;
    try {
      await this.#parts.lock(how, () => {
        this.#term = term;
        return this.#lead(term.signal);
      });
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== "AbortError") throw error;
      // Another tab has taken the lock; or this one no longer waits for it.
      wasTaken = this.#term === term;
    } finally {
      term.abort();
      if (this.#term === term) this.#term = null;
    }
    if (wasTaken && !this.#parts.signal.aborted) this.join();
  }

  async #lead(term: AbortSignal): Promise<void> {
    const { signal, send, read } = this.#parts;
    const until = AbortSignal.any([signal, term]);
    const reading = read(this.#cursor, until, {
      onEvent: (event, id) => {
        this.#cursor = id ?? this.#cursor;
        send({ kind: "event", id, event });
      },
      onConnection: (connection) => send({ kind: "connection", connection }),
    });
    // The lock is free with the abort: a tab that is being frozen has no time to see its stream end.
    await Promise.race([reading, aborted(until)]);
  }
}

/** What another tab knows of the server. */
function adopt(store: LiveStore, { connection, counts, openWaits, version, skewMs }: LiveState): void {
  store.connected(connection);
  if (counts !== null) store.receive({ event: "counts", data: counts });
  if (openWaits !== null) store.receive({ event: "waits", data: { open: openWaits } });
  store.adopt({ version: version?.now ?? null, skewMs });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
