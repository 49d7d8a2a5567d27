import { ConfigurationError } from "../core/errors.ts";
import type { SessionEvent } from "../core/session-event.ts";
import type { SessionView, SliceQuery } from "../session/session-view.ts";
import type { Slice } from "../session/slice.ts";
import type { SessionState } from "../session/slice-set.ts";
import type { PlannedSession, SessionKeeper } from "./session-keeper.ts";

/**
 * The session as the code of a step sees and changes it, the calls of its tools included, in the order that the code meets
 * them. It takes effect when the step is finished; a step that is interrupted begins again without it.
 */
export class CodeStepSession implements SessionView {
  readonly #keeper: SessionKeeper;
  readonly #told = new Set<string>();
  /** Null while nothing was told: steps inside of this one may have changed the session meanwhile. */
  #state: SessionState | null = null;
  #hasEnded = false;

  constructor(keeper: SessionKeeper) {
    this.#keeper = keeper;
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
    return this.#state ?? this.#keeper.session.state;
  }

  query<T>(slice: Slice<T>): SliceQuery<T> {
    return this.#keeper.draft(() => this.state).query(slice);
  }

  dispatch(event: SessionEvent): void {
    if (this.#hasEnded)
      throw new ConfigurationError(
        `The step has ended, and its session takes no event ${JSON.stringify(event.type)} any more: wait for what dispatches before the step returns.`,
      );
    this.#state = this.#keeper.session.slices.reduce(this.state, event);
  }

  /** What a call of the step told the session; a call that is met again tells it once. */
  take(origin: string, events: readonly SessionEvent[]): void {
    if (events.length === 0 || this.#told.has(origin)) return;
    this.#told.add(origin);
    for (const event of events) this.#state = this.#keeper.session.slices.reduce(this.state, event);
  }

  end(): void {
    this.#hasEnded = true;
  }

  plan(): PlannedSession {
    return { state: this.state, applied: [...this.#told], isMilestone: false };
  }
}
