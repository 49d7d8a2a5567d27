import { ConfigurationError } from "../../core/errors.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { SessionView, SliceQuery } from "../../session/session-view.ts";
import type { Slice } from "../../session/slice.ts";
import { ownEvent, type SessionState } from "../../session/slice-set.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import type { PendingSession, SessionKeeper } from "../run/session-keeper.ts";

/**
 * The session as one step sees and changes it. Events of the step's code and of its tool calls apply in the order in which
 * the code dispatches them and receives the results. They take effect when the step is finished; an interrupted step starts
 * again without them.
 */
export class StepSession implements SessionView {
  readonly #keeper: SessionKeeper;
  readonly #secrets: RunSecrets;
  /** The events so far. `origin` is the tool call that dispatched the event; null for the step's own code. */
  readonly #events: { readonly origin: string | null; readonly event: SessionEvent }[] = [];
  readonly #origins = new Set<string>();
  /** `base` with all events applied. Steps inside this one may change the session: then the base is another one. */
  #applied: { readonly base: SessionState; readonly state: SessionState };
  #hasEnded = false;

  constructor(keeper: SessionKeeper, secrets: RunSecrets) {
    this.#keeper = keeper;
    this.#secrets = secrets;
    const { state } = keeper.session;
    this.#applied = { base: state, state };
  }

  get id(): string {
    return this.#keeper.session.id;
  }

  get createdAt(): number {
    return this.#keeper.session.createdAt;
  }

  get tags(): SessionView["tags"] {
    return this.#keeper.session.tags;
  }

  get state(): SessionState {
    const base = this.#keeper.session.state;
    if (this.#applied.base !== base) {
      let state = base;
      for (const { origin, event } of this.#events) state = this.#keeper.apply(state, origin, event);
      this.#applied = { base, state };
    }
    return this.#applied.state;
  }

  query<T>(slice: Slice<T>): SliceQuery<T> {
    return this.#keeper.draft(() => this.state).query(slice);
  }

  dispatch(event: SessionEvent): void {
    if (this.#hasEnded)
      throw new ConfigurationError(
        `Event ${JSON.stringify(event.type)} was dispatched after its step had ended: await the code that dispatches it before the step returns.`,
      );
    this.#add(null, this.#secrets.hide(ownEvent(event)));
  }

  /** Adds the events of a tool call, once: a receipt that is reused adds none. */
  addCallEvents(origin: string, events: readonly SessionEvent[]): void {
    if (events.length === 0 || this.#origins.has(origin)) return;
    this.#origins.add(origin);
    for (const event of events) this.#add(origin, event);
  }

  #add(origin: string | null, event: SessionEvent): void {
    const { state } = this;
    this.#applied = { base: this.#applied.base, state: this.#keeper.apply(state, origin, event) };
    this.#events.push({ origin, event });
  }

  end(): void {
    this.#hasEnded = true;
  }

  plan(): PendingSession {
    return { state: this.state, applied: [...this.#origins], milestone: "none" };
  }
}
