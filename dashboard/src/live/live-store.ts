import type { LiveEvent, RunCounts, RunHead } from "../api/documents.ts";

/** Whether what is on screen follows the store. `lastSignAt` is when the server was last heard, in milliseconds. */
export type Connection =
  | { readonly status: "connecting"; readonly since: number }
  | { readonly status: "live" }
  | { readonly status: "lost"; readonly since: number; readonly lastSignAt: number | null }
  | { readonly status: "signed_out" };

/** What the stream said last, beside the heads. */
export type LiveState = {
  readonly connection: Connection;
  readonly counts: RunCounts | null;
  readonly openWaits: number | null;
  /** The version of the server when this page was loaded, and now. Another one means that the page is old. */
  readonly version: { readonly first: string; readonly now: string } | null;
  /** Time of the server less that of this browser. */
  readonly skewMs: number;
};

/** Something that pages react to, beside showing the state. */
export type LiveSignal =
  | { readonly kind: "head"; readonly head: RunHead; readonly isNew: boolean }
  | { readonly kind: "gone"; readonly runId: string }
  | { readonly kind: "waits" }
  | { readonly kind: "reset" };

/** More than a list keeps. The oldest are dropped: what shows them falls back to what it fetched. */
const MOST_HEADS = 4_000;

/** The newest known state of the runs, outside of React: rows subscribe to their own run alone. */
export class LiveStore {
  #state: LiveState;
  readonly #heads = new Map<string, RunHead>();
  readonly #ofState = new Set<() => void>();
  readonly #ofRun = new Map<string, Set<() => void>>();
  readonly #ofSignals = new Set<(signal: LiveSignal) => void>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    const connection = { status: "connecting", since: now() } as const;
    this.#state = { connection, counts: null, openWaits: null, version: null, skewMs: 0 };
  }

  readonly state = (): LiveState => this.#state;

  head(runId: string): RunHead | undefined {
    return this.#heads.get(runId);
  }

  readonly onState = (listener: () => void): (() => void) => {
    this.#ofState.add(listener);
    return () => this.#ofState.delete(listener);
  };

  onRun(runId: string, listener: () => void): () => void {
    const listeners = this.#ofRun.get(runId) ?? new Set();
    this.#ofRun.set(runId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#ofRun.get(runId) === listeners) this.#ofRun.delete(runId);
    };
  }

  onSignal(listener: (signal: LiveSignal) => void): () => void {
    this.#ofSignals.add(listener);
    return () => this.#ofSignals.delete(listener);
  }

  connected(connection: Connection): void {
    this.#change({ connection });
  }

  /** What another tab knows of the server. */
  adopt(known: Pick<LiveState, "version" | "skewMs">): void {
    this.#change(known);
  }

  /** Heads of a page that was fetched. They may be older than what the stream brought meanwhile. */
  learn(heads: readonly RunHead[]): void {
    for (const head of heads) this.#apply(head);
  }

  /** The same event twice, or an older one after a newer one, changes nothing. */
  receive(event: LiveEvent): void {
    switch (event.event) {
      case "hello":
        this.#change({
          version: { first: this.#state.version?.first ?? event.data.version, now: event.data.version },
          skewMs: Date.parse(event.data.asOf) - this.#now(),
        });
        return;
      case "head": {
        const isNew = !this.#heads.has(event.data.runId);
        if (this.#apply(event.data)) this.#signal({ kind: "head", head: event.data, isNew });
        return;
      }
      case "gone":
        this.#heads.delete(event.data.runId);
        this.#tell(event.data.runId);
        this.#signal({ kind: "gone", runId: event.data.runId });
        return;
      case "waits":
        this.#change({ openWaits: event.data.open });
        this.#signal({ kind: "waits" });
        return;
      case "counts":
        this.#change({ counts: event.data });
        return;
      case "reset":
        this.#signal({ kind: "reset" });
        return;
      // Pages read the log of a run when its head moves: one way for what is new and for what was missed.
      case "log":
        return;
    }
  }

  /** A lease that is renewed changes the head and not its number, so the later one of two equals counts. */
  #apply(head: RunHead): boolean {
    const known = this.#heads.get(head.runId);
    if (known !== undefined && !isLater(head, known)) return false;
    this.#heads.delete(head.runId);
    this.#heads.set(head.runId, head);
    if (this.#heads.size > MOST_HEADS) this.#dropOldest();
    this.#tell(head.runId);
    return true;
  }

  #dropOldest(): void {
    for (const runId of this.#heads.keys()) {
      if (this.#ofRun.has(runId)) continue;
      this.#heads.delete(runId);
      return;
    }
  }

  #change(part: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#ofState) listener();
  }

  #tell(runId: string): void {
    for (const listener of this.#ofRun.get(runId) ?? []) listener();
  }

  #signal(signal: LiveSignal): void {
    for (const listener of this.#ofSignals) listener(signal);
  }
}

function isLater(head: RunHead, known: RunHead): boolean {
  if (head.eventSeq !== known.eventSeq) return head.eventSeq > known.eventSeq;
  if (head.updatedAt !== known.updatedAt) return head.updatedAt > known.updatedAt;
  return head.status !== known.status || (head.leaseUntil ?? "") > (known.leaseUntil ?? "");
}
