import { ConfigurationError } from "../core/errors.ts";
import type { SessionEvent } from "../core/session-event.ts";
import type { Session } from "./session.ts";
import { querySlice, type SessionView, type SliceQuery } from "./session-view.ts";
import type { Slice } from "./slice.ts";
import { ownEvent, type SessionState } from "./slice-set.ts";

/**
 * The session as a tool call sees it: the state when the call began, plus the events that it dispatched itself. They take
 * effect only when the state is adopted elsewhere.
 */
export class DraftSession implements SessionView {
  readonly #session: Session;
  readonly #base: () => SessionState;
  #state: SessionState | null = null;
  #events: readonly SessionEvent[] = [];
  #hasEnded = false;

  /** `base` is computed on first use: most calls never use the session. */
  constructor(session: Session, base: () => SessionState) {
    this.#session = session;
    this.#base = base;
  }

  get id(): string {
    return this.#session.id;
  }

  get createdAt(): number {
    return this.#session.createdAt;
  }

  get tags(): Session["tags"] {
    return this.#session.tags;
  }

  /** The events that were dispatched here, in order. */
  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  get state(): SessionState {
    this.#state ??= this.#base();
    return this.#state;
  }

  query<T>(slice: Slice<T>): SliceQuery<T> {
    return querySlice(this.#session.slices, slice, () => this.state);
  }

  dispatch(event: SessionEvent): void {
    const owned = ownEvent(event);
    if (this.#hasEnded)
      throw new ConfigurationError(
        `The event ${owned.type} came after its tool call had ended: dispatch it before the tool returns.`,
        { type: owned.type },
      );
    this.#state = this.#session.slices.reduce(this.state, owned);
    this.#events = [...this.#events, owned];
  }

  /** The call has ended: the events so far go into its receipt, and later ones are refused. */
  end(): void {
    this.#hasEnded = true;
  }
}
