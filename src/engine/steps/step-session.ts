import { ConfigurationError } from "../../core/errors.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { SessionView, SliceQuery } from "../../session/session-view.ts";
import type { Slice } from "../../session/slice.ts";
import { ownEvent, type SessionState } from "../../session/slice-set.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import type { PendingSession, SessionKeeper } from "../run/session-keeper.ts";

/**
 * The session as a step sees and changes it, the calls of its tools included, in the order that its code meets them. It takes
 * effect when the step is finished; a step that is interrupted begins again without it.
 */
export class StepSession implements SessionView {
  readonly #keeper: SessionKeeper;
  readonly #secrets: RunSecrets;
  /** What was told here, and by which call; null: by the code itself. */
  readonly #told: { readonly origin: string | null; readonly event: SessionEvent }[] = [];
  readonly #origins = new Set<string>();
  /** The state after what was told so far, on what the session was then: steps inside of this one may change that. */
  #known: { readonly base: SessionState; readonly state: SessionState };
  #hasEnded = false;

  constructor(keeper: SessionKeeper, secrets: RunSecrets) {
    this.#keeper = keeper;
    this.#secrets = secrets;
    const { state } = keeper.session;
    this.#known = { base: state, state };
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
    if (this.#known.base !== base) {
      let state = base;
      for (const { origin, event } of this.#told) state = this.#keeper.apply(state, origin, event);
      this.#known = { base, state };
    }
    return this.#known.state;
  }

  query<T>(slice: Slice<T>): SliceQuery<T> {
    return this.#keeper.draft(() => this.state).query(slice);
  }

  dispatch(event: SessionEvent): void {
    if (this.#hasEnded)
      throw new ConfigurationError(
        `The step has ended, and its session takes no event ${JSON.stringify(event.type)} any more: wait for what dispatches before the step returns.`,
      );
    this.#tell(null, this.#secrets.hide(ownEvent(event)));
  }

  /** What a call of the step told the session; a call that is met again tells it once. */
  take(origin: string, events: readonly SessionEvent[]): void {
    if (events.length === 0 || this.#origins.has(origin)) return;
    this.#origins.add(origin);
    for (const event of events) this.#tell(origin, event);
  }

  #tell(origin: string | null, event: SessionEvent): void {
    const { state } = this;
    this.#known = { base: this.#known.base, state: this.#keeper.apply(state, origin, event) };
    this.#told.push({ origin, event });
  }

  end(): void {
    this.#hasEnded = true;
  }

  plan(): PendingSession {
    return { state: this.state, applied: [...this.#origins], isMilestone: false };
  }
}
