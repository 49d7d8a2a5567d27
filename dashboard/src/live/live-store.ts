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
  | { readonly kind: "reset" }
  /** The server answers again. What was asked for while it did not has failed. */
  | { readonly kind: "back" };

/** More than a list keeps. The oldest are dropped: what shows them falls back to what it fetched. */
const MOST_HEADS = 4_000;

/** The newest known state of the runs, outside of React: rows subscribe to their own run alone. */
export class LiveStore {
  #state: LiveState;
  readonly #heads = new Map<string, RunHead>();
  /** Known from before a reset: they stay on screen, and whatever is heard next of their runs counts. */
  readonly #doubted = new Set<string>();
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

  /** The number of the last event that is known of a run: 0 if none is, or if a reset has made it doubtful. */
  seqOf(runId: string): number {
    return this.#doubted.has(runId) ? 0 : (this.#heads.get(runId)?.eventSeq ?? 0);
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
    const before = this.#state.connection.status;
    this.#change({ connection });
    if (before === "lost" && connection.status === "live") this.#signal({ kind: "back" });
  }

  /** What another tab knows of the server. */
  adopt({ version, skewMs }: { readonly version: string | null; readonly skewMs: number }): void {
    if (version !== null) this.#meet(version);
    this.#change({ skewMs });
  }

  /** Heads of a page that was fetched. They may be older than what the stream brought meanwhile. */
  learn(heads: readonly RunHead[]): void {
    for (const head of heads) this.#apply(head);
  }

  /** The same event twice, or an older one after a newer one, changes nothing. */
  receive(event: LiveEvent): void {
    switch (event.event) {
      case "hello":
        this.#meet(event.data.version);
        this.#change({ skewMs: Date.parse(event.data.asOf) - this.#now() });
        return;
      case "head": {
        const known = this.#heads.get(event.data.runId);
        if (!this.#apply(event.data)) return;
        this.#signal({ kind: "head", head: event.data, isNew: known === undefined });
        // Their number stays the same where one is answered and another opened.
        if (waitsIn(known) !== waitsIn(event.data)) this.#signal({ kind: "waits" });
        return;
      }
      case "gone":
        // After an absence the server names all that were deleted lately.
        if (!this.#heads.has(event.data.runId)) return;
        this.#forget(event.data.runId);
        this.#notify(event.data.runId);
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
        for (const runId of this.#heads.keys()) this.#doubted.add(runId);
        this.#signal({ kind: "reset" });
        return;
      // Pages read the log of a run when its head moves: one way for what is new and for what was missed.
      case "log":
        return;
    }
  }

  /** Takes the head, and returns true, unless a newer one is known. */
  #apply(head: RunHead): boolean {
    const known = this.#heads.get(head.runId);
    if (known !== undefined && !this.#doubted.has(head.runId) && !isLater(head, known)) return false;
    this.#forget(head.runId);
    this.#heads.set(head.runId, head);
    if (this.#heads.size > MOST_HEADS) this.#dropOldest();
    this.#notify(head.runId);
    return true;
  }

  #dropOldest(): void {
    for (const runId of this.#heads.keys()) {
      if (this.#ofRun.has(runId)) continue;
      this.#forget(runId);
      return;
    }
  }

  #forget(runId: string): void {
    this.#heads.delete(runId);
    this.#doubted.delete(runId);
  }

  /** The first version is that of the page: each tab was loaded when it was, so no other tab knows it. */
  #meet(version: string): void {
    this.#change({ version: { first: this.#state.version?.first ?? version, now: version } });
  }

  #change(part: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#ofState) listener();
  }

  #notify(runId: string): void {
    for (const listener of this.#ofRun.get(runId) ?? []) listener();
  }

  #signal(signal: LiveSignal): void {
    for (const listener of this.#ofSignals) listener(signal);
  }
}

function waitsIn(head: RunHead | undefined): string {
  return head === undefined ? "0 " : `${head.openWaits} ${head.firstWait?.waitId ?? ""}`;
}

/**
 * Two things change a head without an event: a renewal, which makes the lease longer, and the clock, which ends it. So of two with
 * the same lease the interrupted one is newer, whichever arrives last, and with a longer lease the run is no longer interrupted.
 */
function isLater(head: RunHead, known: RunHead): boolean {
  if (head.eventSeq !== known.eventSeq) return head.eventSeq > known.eventSeq;
  if (head.updatedAt !== known.updatedAt) return head.updatedAt > known.updatedAt;
  const [until, knownUntil] = [head.leaseUntil ?? "", known.leaseUntil ?? ""];
  if (until !== knownUntil) return until > knownUntil;
  return head.status === "interrupted" && known.status !== "interrupted";
}
