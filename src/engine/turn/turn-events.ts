import type { SessionEvent } from "../../core/session-event.ts";
import type { SessionState } from "../../session/slice-set.ts";
import type { CallEvents, PendingSession, SessionKeeper } from "../run/session-keeper.ts";

/** What the calls of a turn have told the session so far. It takes effect in call order, whatever order they end in. */
export class ToldSession {
  readonly #keeper: SessionKeeper;
  readonly #told = new Map<number, CallEvents>();

  constructor(keeper: SessionKeeper) {
    this.#keeper = keeper;
  }

  tell(order: number, origin: string, events: readonly SessionEvent[]): void {
    if (events.length > 0) this.#told.set(order, { origin, events });
  }

  /** What a call finds: the session, and what those before it have told so far. */
  stateBefore(order: number): SessionState {
    const before = this.#inOrder(order);
    return before.length === 0 ? this.#keeper.session.state : this.#keeper.pendingAfter(before).state;
  }

  plan(): PendingSession {
    return this.#told.size === 0
      ? this.#keeper.unchanged()
      : this.#keeper.pendingAfter(this.#inOrder(Number.POSITIVE_INFINITY));
  }

  #inOrder(end: number): CallEvents[] {
    return [...this.#told]
      .filter(([order]) => order < end)
      .sort(([a], [b]) => a - b)
      .map(([, told]) => told);
  }
}
