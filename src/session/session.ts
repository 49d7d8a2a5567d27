import { ConfigurationError } from "../core/errors.ts";
import type { SessionEvent } from "../core/session-event.ts";
import { EventBus } from "./event-bus.ts";
import { frozenJson } from "./frozen-json.ts";
import { assertRegistered, querySlice, type SessionView, type SliceQuery } from "./session-view.ts";
import type { Slice } from "./slice.ts";
import { SliceObservers } from "./slice-observers.ts";
import { EMPTY_STATE, ownEvent, type SessionState, SliceSet, valuesOf } from "./slice-set.ts";
import { Snapshot } from "./snapshot.ts";

export type { SessionView, SliceQuery } from "./session-view.ts";

export type Tags = { readonly [key: string]: string };

export type SessionOptions = {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly slices: readonly Slice[] | SliceSet;
  /** Further events that may be dispatched although no slice has a reducer for them. */
  readonly eventTypes?: readonly string[];
  readonly tags?: Tags;
  readonly parent?: Session;
  readonly state?: SessionState;
};

export type ChildSessionOptions = Pick<SessionOptions, "id" | "createdAt" | "tags"> & {
  /** Those of its parent by default. */
  readonly slices?: SessionOptions["slices"];
};

/** More changes than honest observers make in response to one; observers that answer each other would never stop. */
const MAX_OBSERVER_CHANGES = 1_000;

/**
 * The typed state of a run: slices that only events change, through their reducers.
 *
 * @example
 * const session = new Session({ id: "s-1", createdAt: 0, slices: [planSlice] });
 * session.dispatch(setupPlan("Write the report", ["Collect", "Write"]));
 * session.query(planSlice).latest()?.steps.length; // 2
 */
export class Session implements SessionView {
  readonly id: string;
  readonly createdAt: number;
  readonly slices: SliceSet;
  readonly bus = new EventBus();
  readonly parent: string | null;
  readonly #observers = new SliceObservers();
  readonly #liveChildren = new Map<string, Session>();
  #children: readonly string[] = [];
  #tags: Tags;
  #state: SessionState;
  /** Changes that were requested while observers were notified of another, or while the session was held. */
  #waiting: (() => SessionState)[] = [];
  #isNotifying = false;
  #holds = 0;
  #isClosed = false;

  constructor(options: SessionOptions) {
    const { id, createdAt, slices, parent } = options;
    assertIdentity(id, createdAt);
    this.id = id;
    this.createdAt = createdAt;
    this.slices = slices instanceof SliceSet ? slices : new SliceSet(slices, options.eventTypes);
    this.#tags = ownTags(options.tags ?? {});
    this.#state = options.state ?? EMPTY_STATE;
    this.parent = parent?.id ?? null;
    if (parent !== undefined) parent.#adoptChild(this);
  }

  get tags(): Tags {
    return this.#tags;
  }

  /** The ids of the child sessions, closed or not. */
  get children(): readonly string[] {
    return this.#children;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Creates an empty child session that is closed with this one. */
  child(options: ChildSessionOptions): Session {
    return new Session({ ...options, slices: options.slices ?? this.slices, parent: this });
  }

  query<T>(slice: Slice<T>): SliceQuery<T> {
    return querySlice(this.slices, slice, () => this.#state);
  }

  /**
   * Applies an event. All slices accept it or, if one of their values would not fit, none does and it throws. An event that
   * an observer dispatches takes effect after all observers were notified of the current change.
   */
  dispatch(event: SessionEvent): void {
    const owned = ownEvent(event);
    this.#change(() => this.slices.reduce(this.#state, owned));
  }

  /** Calls the observer after each change of a slice. Returns a function that ends the observation. */
  observe<T>(slice: Slice<T>, observer: (values: readonly T[], before: readonly T[]) => void): () => void {
    this.#assertOpen();
    assertRegistered(this.slices, slice);
    // Its schema has checked every value, so each is a T.
    return this.#observers.add(slice.name, (values, before) =>
      observer(values as readonly T[], before as readonly T[]),
    );
  }

  /** Sets a state that was computed elsewhere, immediately even while the session is held. */
  adopt(state: SessionState): void {
    this.#assertChangeable();
    if (this.#isNotifying) this.#waiting.push(() => state);
    else this.#takeEffect(() => state);
  }

  /**
   * Freezes the state while another one is computed from it, until the returned function is called or that one is adopted.
   * Changes that are requested meanwhile wait.
   */
  hold(): () => void {
    let isHeld = true;
    this.#holds++;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds--;
      if (this.#holds === 0 && !this.#isNotifying && this.#waiting.length > 0 && !this.#isClosed)
        this.#takeEffect(() => this.#state);
    };
  }

  /** A snapshot, by default of the current state. Slices without values are left out. */
  snapshot(state: SessionState = this.#state): Snapshot {
    const stored = [...this.slices]
      .map(({ name, kind, version }) => ({ name, kind, version, values: valuesOf(state, name) }))
      .filter(({ kind, values }) => kind === "state" && values.length > 0)
      .map(({ name, version, values }) => [name, { version, values }] as const);
    const { id, createdAt, tags, parent, children } = this;
    return new Snapshot({ id, createdAt, tags, parent, children }, Object.fromEntries(stored));
  }

  /** The state after a rollback: state slices as in the snapshot or empty, logs unchanged. */
  restored(snapshot: Snapshot): SessionState {
    const restored = this.slices.restore(snapshot.slices);
    const lists = [...this.slices].map(
      ({ name, kind }) => [name, valuesOf(kind === "log" ? this.#state : restored, name)] as const,
    );
    return new Map(lists.filter(([, values]) => values.length > 0));
  }

  /** Restores a snapshot, tags included: all of it, or `SnapshotRestoreError` and nothing. */
  rollback(snapshot: Snapshot): void {
    this.#change(() => {
      const state = this.restored(snapshot);
      this.#tags = snapshot.session.tags;
      this.#children = [...new Set([...snapshot.session.children, ...this.#liveChildren.keys()])];
      return state;
    });
  }

  /** Empties every slice, logs included. */
  reset(): void {
    this.#change(() => EMPTY_STATE);
  }

  /** Ends the observers, the subscriptions of its bus, and its children. Its state can still be read. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const child of this.#liveChildren.values()) child.close();
    this.#observers.clear();
    this.bus.close();
  }

  #adoptChild(child: Session): void {
    this.#assertOpen();
    if (this.#liveChildren.has(child.id))
      throw new ConfigurationError(`Session ${this.id} has a child ${child.id} already: give it another id.`);
    this.#liveChildren.set(child.id, child);
    this.#children = [...new Set([...this.#children, child.id])];
  }

  #change(change: () => SessionState): void {
    this.#assertChangeable();
    if (this.#isNotifying || this.#holds > 0) this.#waiting.push(change);
    else this.#takeEffect(change);
  }

  #assertChangeable(): void {
    this.#assertOpen();
    if (!this.slices.isReducing) return;
    throw new ConfigurationError(
      `A reducer tried to change session ${this.id}: a reducer only returns its values.`,
    );
  }

  #takeEffect(change: () => SessionState): void {
    const before = this.#state;
    this.#state = change();
    this.#isNotifying = true;
    try {
      this.#notify(before);
      for (let taken = 0; this.#waiting.length > 0 && this.#holds === 0 && !this.#isClosed; taken++)
        this.#takeWaiting(taken);
    } finally {
      if (this.#holds === 0) this.#waiting = [];
      this.#isNotifying = false;
    }
  }

  /** The code that requested this change has returned already, so an error can only be published. */
  #takeWaiting(taken: number): void {
    const change = this.#waiting.shift();
    if (change === undefined) return;
    const before = this.#state;
    try {
      assertFewEnough(taken);
      this.#state = change();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#publishFailure(`A change that an observer requested failed: ${why}`);
      return;
    }
    this.#notify(before);
  }

  #notify(before: SessionState): void {
    this.#observers.notify(before, this.#state, (message) => this.#publishFailure(message));
  }

  #publishFailure(message: string): void {
    this.bus.publish("ObserverFailed", { message });
  }

  #assertOpen(): void {
    if (!this.#isClosed) return;
    throw new ConfigurationError(`Session ${this.id} is closed and cannot be changed: open a new one.`);
  }
}

function assertFewEnough(taken: number): void {
  if (taken < MAX_OBSERVER_CHANGES) return;
  throw new ConfigurationError(
    `Observers have made ${MAX_OBSERVER_CHANGES} changes in response to one: let them stop answering each other.`,
  );
}

function assertIdentity(id: unknown, createdAt: unknown): void {
  if (typeof id !== "string" || id === "")
    throw new ConfigurationError(`A session needs an id: give a text that is not empty.`);
  if (typeof createdAt !== "number" || !Number.isFinite(createdAt))
    throw new ConfigurationError(
      `Session ${id} needs the time when it was created: give createdAt in milliseconds since 1970.`,
    );
}

function ownTags(tags: Tags): Tags {
  const wrong = Object.entries(tags).find(([, value]) => typeof value !== "string");
  if (wrong === undefined) return frozenJson(tags, "The tags") as Tags;
  throw new ConfigurationError(`The tag ${JSON.stringify(wrong[0])} is not a text: give it one.`);
}
