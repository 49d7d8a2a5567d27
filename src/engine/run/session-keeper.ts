import { canonicalJson } from "../../core/canonical-json.ts";
import { SnapshotRestoreError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { CheckpointTrigger } from "../../session/checkpoint-trigger.ts";
import { DraftSession } from "../../session/draft-session.ts";
import type { Session } from "../../session/session.ts";
import { sliceChanges } from "../../session/slice-changes.ts";
import { EMPTY_STATE, type SessionState, type StoredSlices, valuesOf } from "../../session/slice-set.ts";
import { Snapshot } from "../../session/snapshot.ts";
import type { CheckpointType, SessionCommit, SliceChange, Store, StoredSlice } from "../../store/store.ts";

/** What to do if stored slices no longer fit their definitions: stop, start the work again, or migrate them. */
export type SliceMismatch = "stop" | "fresh" | ((slices: StoredSlices) => StoredSlices);

/** The session events of one call. `origin` is the call that first dispatched them, if other calls reuse its receipt. */
export type CallEvents = { readonly origin: string; readonly events: readonly SessionEvent[] };

/** The session after the events of a turn or a step. It becomes the session's state once it is committed. */
export type PendingSession = {
  readonly state: SessionState;
  readonly applied: readonly string[];
  /** Whether it is a milestone, and when that is saved: in the commit itself, or after it. */
  readonly milestone: "none" | "with_commit" | "after_commit";
};

/** An earlier state to return to, and the slice changes to write for it. */
export type SessionRollback = {
  readonly state: SessionState;
  readonly slices: readonly SliceChange[];
  /** True if the snapshot does not fit and the caller chose to start again. */
  readonly isFresh: boolean;
};

/**
 * The run's session while a worker holds the run. It changes only with a commit: the state after a turn or a step is
 * computed first, written with the commit, and becomes current after it.
 */
export class SessionKeeper {
  readonly session: Session;
  readonly #store: Store;
  readonly #trigger: CheckpointTrigger;
  readonly #mismatch: SliceMismatch;
  readonly #warn: (message: string) => void;
  /** The call that ended last in this worker, for the cursor of a checkpoint. */
  lastToolCall: string | null = null;
  /** The state in the store. Observers may have changed the session since: the next commit writes that. */
  #stored: SessionState = EMPTY_STATE;
  /** Stored slices that differ from the session's or are not in the session: the next commit writes them whole. */
  #stale: ReadonlyMap<string, StaleSlice> = new Map();
  /** Set if the stored session does not fit and is about to be rolled back: until then nothing is written. */
  #misfit: SnapshotRestoreError | null = null;
  /** The state of the last checkpoint; null if it was not read yet. */
  #checkpointed: SessionState | null = EMPTY_STATE;
  /** Settles when the checkpoint that was to be saved after its commit is saved, or could not be. */
  #saving: Promise<void> | null = null;
  /** Earlier calls whose events are applied again. */
  readonly #replayed = new Set<string>();
  /** Those of them whose events are still in the log slices, which are not rolled back. */
  readonly #logged = new Set<string>();
  /** Calls with a warning that some of their events were dropped. */
  readonly #warnedOf = new Set<string>();

  constructor(
    store: Store,
    session: Session,
    trigger: CheckpointTrigger,
    mismatch: SliceMismatch,
    warn: (message: string) => void,
  ) {
    this.#warn = warn;
    this.#store = store;
    this.session = session;
    this.#trigger = trigger;
    this.#mismatch = mismatch;
  }

  /**
   * Loads the session from the store. Returns false if it does not fit the slices, and the caller chose to start again or
   * is rolling back to a checkpoint anyway: then only the slices that fit are loaded.
   */
  async load({ isRollingBack }: { readonly isRollingBack: boolean }): Promise<boolean> {
    const { slices } = this.session;
    const stored = await this.#store.readSession(this.session.id);
    if (slices.names.length > 0) this.#checkpointed = null;
    if (stored.length === 0) return true;
    this.#markStale(stored.filter(({ name, version }) => slices.get(name)?.version !== version));
    try {
      const { state, isMigrated } = this.#restoreOrMigrate(asStored(stored), (values) =>
        slices.restore(values),
      );
      if (isMigrated) this.#markStale([...stored, ...[...slices].filter(({ name }) => state.has(name))]);
      this.#setStored(state);
      return true;
    } catch (error) {
      if (!SnapshotRestoreError.isInstance(error) || (this.#mismatch !== "fresh" && !isRollingBack))
        throw error;
      if (this.#mismatch !== "fresh") this.#misfit = error;
      this.#markStale(stored);
      this.#setStored(fitting(this.session, stored));
      return false;
    }
  }

  #markStale(slices: readonly StaleSlice[]): void {
    this.#stale = new Map(slices.map((slice) => [slice.name, slice]));
  }

  #setStored(state: SessionState): void {
    this.#stored = state;
    this.session.adopt(state);
  }

  /** Restores slices; if they do not fit, the caller's migration is tried, if there is one. */
  #restoreOrMigrate(
    slices: StoredSlices,
    restore: (slices: StoredSlices) => SessionState,
  ): { readonly state: SessionState; readonly isMigrated: boolean } {
    try {
      return { state: restore(slices), isMigrated: false };
    } catch (error) {
      if (!SnapshotRestoreError.isInstance(error) || typeof this.#mismatch !== "function") throw error;
      return { state: restore(this.#mismatch(slices)), isMigrated: true };
    }
  }

  /** Runs a commit. Events that are dispatched meanwhile are applied after it. */
  async whileHeld<T>(commit: () => Promise<T>): Promise<T> {
    const release = this.session.hold();
    try {
      return await commit();
    } finally {
      release();
    }
  }

  /** A view of the session that starts from a given state, for a tool or a code step. */
  draft(base: () => SessionState): DraftSession {
    return new DraftSession(this.session, base);
  }

  /** The session without changes: most turns have no session events. */
  unchanged(): PendingSession {
    return { state: this.session.state, applied: [], milestone: "none" };
  }

  /** The session after these events, in this order; each call's events once. Throws errors of reducers. */
  pendingAfter(calls: readonly CallEvents[]): PendingSession {
    let { state } = this.session;
    let milestone: PendingSession["milestone"] = "none";
    const applied = new Set<string>();
    for (const { origin, events } of calls) {
      if (events.length === 0 || applied.has(origin)) continue;
      applied.add(origin);
      for (const event of events) {
        state = this.apply(state, origin, event);
        const after = state;
        const view = this.draft(() => after);
        if (milestone !== "with_commit" && this.#trigger.shouldCheckpoint(event, view))
          milestone = this.#trigger.mayBeLate(event) ? "after_commit" : "with_commit";
      }
    }
    return { state, applied: [...applied], milestone };
  }

  /** The state after an event. `origin` is its call; null for an event that a code step dispatched itself. */
  apply(state: SessionState, origin: string | null, event: SessionEvent): SessionState {
    const { slices } = this.session;
    if (origin === null) return slices.reduce(state, event);
    try {
      return slices.reduce(state, event, this.#logged.has(origin) ? "state" : null);
    } catch (error) {
      // The event was made for an earlier version or another state. The call is not made again, so there is no new event.
      if (slices.knows(event.type) && !this.#replayed.has(origin)) throw error;
      this.#warnDropped(origin, error);
      return state;
    }
  }

  /** Warns once for each call: a state is computed more often than it is committed. */
  #warnDropped(origin: string, error: unknown): void {
    if (this.#warnedOf.has(origin)) return;
    this.#warnedOf.add(origin);
    const why = error instanceof Error ? error.message : String(error);
    this.#warn(`The session events of ${origin} no longer fit the session and were dropped: ${why}`);
  }

  /** Called before the events of an earlier call are applied again: checks whether the log slices still have them. */
  async prepareReplay(origin: string): Promise<void> {
    this.#replayed.add(origin);
    if (await this.#store.isForgotten(this.session.id, origin)) this.#logged.add(origin);
  }

  /** The session part of a commit; undefined if there is nothing to write. */
  sessionCommit(
    { state, applied }: PendingSession,
    checkpoint: { readonly type: CheckpointType; readonly cursor: JsonObject } | null,
  ): SessionCommit | undefined {
    if (this.#misfit !== null) throw this.#misfit;
    const slices = this.#changesTo(state);
    if (slices.length === 0 && applied.length === 0 && checkpoint === null) return undefined;
    const snapshot = () => this.session.snapshot(state).toJSON();
    return {
      slices,
      applied,
      checkpoint: checkpoint === null ? null : { ...checkpoint, snapshot: snapshot() },
    };
  }

  #changesTo(state: SessionState): readonly SliceChange[] {
    if (state === this.#stored && this.#stale.size === 0) return [];
    const { slices } = this.session;
    const changes = sliceChanges(slices, this.#stored, state, new Set(this.#stale.keys()));
    const gone = [...this.#stale.values()].filter(({ name }) => slices.get(name) === undefined);
    return [...changes, ...gone.map(emptied)];
  }

  /** Called after a commit: its state becomes the session's. */
  markCommitted({ state }: PendingSession, { hasCheckpoint }: { readonly hasCheckpoint: boolean }): void {
    if (this.#stale.size > 0) this.#stale = new Map();
    if (hasCheckpoint) this.#checkpointed = state;
    this.#stored = state;
    if (state !== this.session.state) this.session.adopt(state);
  }

  /**
   * Saves the checkpoint of a committed turn while the run continues. A failure is a warning: the turn is committed, and
   * only a return to this milestone is no longer possible.
   */
  saveLater(state: SessionState, save: () => Promise<void>): void {
    this.#saving = save().then(
      () => {
        this.#checkpointed = state;
      },
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        this.#warn(`A checkpoint could not be saved, and the run continues without it: ${why}`);
      },
    );
  }

  /** Waits for the checkpoint that is being saved. Called before anything else about the session is written. */
  async lateCheckpoint(): Promise<void> {
    await this.#saving;
  }

  /** True if a checkpoint of this state would differ from the last one. */
  async isAheadOfCheckpoint(state: SessionState): Promise<boolean> {
    const { slices } = this.session;
    if (this.#checkpointed !== null)
      return sliceChanges(slices, this.#checkpointed, state).some(({ kind }) => kind === "state");
    const last = await this.#store.readCheckpoint(this.session.id);
    const now: Json = this.session.snapshot(state).toJSON().slices ?? {};
    const isAhead = canonicalJson(last?.snapshot.slices ?? {}) !== canonicalJson(now);
    if (!isAhead) this.#checkpointed = state;
    return isAhead;
  }

  /** The rollback to a snapshot; null: to the empty session. Every slice is written whole, whatever the store has. */
  planRollback(snapshot: JsonObject | null): SessionRollback {
    const restored = snapshot === null ? null : this.#restored(snapshot);
    const state = restored ?? this.session.restored(this.session.snapshot(EMPTY_STATE));
    const names = new Set([...state.keys(), ...this.#stored.keys(), ...this.#stale.keys()]);
    const slices = [...names].flatMap((name) => this.#whole(name, state));
    return { state, slices, isFresh: snapshot !== null && restored === null };
  }

  #restored(json: JsonObject): SessionState | null {
    try {
      const snapshot = Snapshot.fromJSON(json);
      return this.#restoreOrMigrate(snapshot.slices, (slices) =>
        this.session.restored(new Snapshot(snapshot.session, slices)),
      ).state;
    } catch (error) {
      if (SnapshotRestoreError.isInstance(error) && this.#mismatch === "fresh") return null;
      throw error;
    }
  }

  #whole(name: string, state: SessionState): SliceChange[] {
    const slice = this.session.slices.get(name);
    const stale = this.#stale.get(name);
    if (slice === undefined) return stale === undefined ? [] : [emptied(stale)];
    const { kind, version } = slice;
    const items = valuesOf(state, name).map((value, index) => [index, value] as const);
    return [{ name, kind, version, length: items.length, items }];
  }

  /** Called after a new lineage was begun: its state becomes the session's. */
  markRolledBack({ state }: SessionRollback): void {
    this.#stale = new Map();
    this.#checkpointed = state;
    this.#misfit = null;
    this.#setStored(state);
  }
}

type StaleSlice = Pick<StoredSlice, "name" | "kind" | "version">;

function emptied({ name, kind, version }: StaleSlice): SliceChange {
  return { name, kind, version, length: 0, items: [] };
}

function asStored(slices: readonly StoredSlice[]): StoredSlices {
  return Object.fromEntries(slices.map(({ name, version, values }) => [name, { version, values }]));
}

/** The stored slices that fit their definitions. */
function fitting(session: Session, stored: readonly StoredSlice[]): SessionState {
  const state = new Map<string, readonly Json[]>();
  for (const slice of stored) {
    try {
      const values = session.slices.restore(asStored([slice])).get(slice.name);
      if (values !== undefined) state.set(slice.name, values);
    } catch {
      // It does not fit, and is dropped.
    }
  }
  return state;
}
