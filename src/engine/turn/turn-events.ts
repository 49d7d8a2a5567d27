import type { SessionEvent } from "../../core/session-event.ts";
import type { SessionState } from "../../session/slice-set.ts";
import type { CallEvents, PendingSession, SessionKeeper } from "../run/session-keeper.ts";

/** The session events of a turn's calls. They take effect in call order at the commit, whatever order the calls end in. */
export class TurnEvents {
  readonly #keeper: SessionKeeper;
  readonly #events = new Map<number, CallEvents>();

  constructor(keeper: SessionKeeper) {
    this.#keeper = keeper;
  }

  record(order: number, origin: string, events: readonly SessionEvent[]): void {
    if (events.length > 0) this.#events.set(order, { origin, events });
  }

  /** The session as the call of this order finds it: with the events recorded so far by the calls before it. */
  stateBefore(order: number): SessionState {
    const before = this.#inOrder(order);
    return before.length === 0 ? this.#keeper.session.state : this.#keeper.pendingAfter(before).state;
  }

  plan(): PendingSession {
    return this.#events.size === 0
      ? this.#keeper.unchanged()
      : this.#keeper.pendingAfter(this.#inOrder(Number.POSITIVE_INFINITY));
  }

  #inOrder(end: number): CallEvents[] {
    return [...this.#events]
      .filter(([order]) => order < end)
      .sort(([a], [b]) => a - b)
      .map(([, events]) => events);
  }
}
