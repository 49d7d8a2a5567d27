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

/** What is done where what is stored does not fit the slices any more: stop, begin the work anew, or mend it. */
export type SliceMismatch = "stop" | "fresh" | ((slices: StoredSlices) => StoredSlices);

/** What one call tells the session. `origin` is the call that it comes from: the first one, where others repeat it. */
export type CallEvents = { readonly origin: string; readonly events: readonly SessionEvent[] };

/** What the session comes to with what it was told: computed aside, and true only once it is committed. */
export type PendingSession = {
  readonly state: SessionState;
  readonly applied: readonly string[];
  readonly isMilestone: boolean;
};

/** A state to go back to, and all that has to be written for it. */
export type SessionRollback = {
  readonly state: SessionState;
  readonly slices: readonly SliceChange[];
  /** The snapshot does not fit, and the caller chose to begin anew. */
  readonly isFresh: boolean;
};

/**
 * The run's session while a worker has the run. It changes only with a commit: what a turn or a step does to it is
 * planned first, written with the commit, and adopted after it.
 */
export class SessionKeeper {
  readonly session: Session;
  readonly #store: Store;
  readonly #trigger: CheckpointTrigger;
  readonly #mismatch: SliceMismatch;
  readonly #warn: (message: string) => void;
  /** The call whose end this worker has seen last, for the cursor of a checkpoint. */
  lastToolCall: string | null = null;
  /** The state as the store has it. An observer may have taken the session further: that goes into the next commit. */
  #stored: SessionState = EMPTY_STATE;
  /** Slices that the store has otherwise than the session, or that are not of the session at all: written whole. */
  #stale: ReadonlyMap<string, StaleSlice> = new Map();
  /** What is stored does not fit, and the session is about to be rolled back: until then nothing is written. */
  #misfit: SnapshotRestoreError | null = null;
  /** The state that the last checkpoint holds; null where nobody looked. */
  #checkpointed: SessionState | null = EMPTY_STATE;
  /** Earlier calls that tell the session again what they told it once. */
  readonly #recalled = new Set<string>();
  /** Those of them whose events the logs still have, since they are not rolled back. */
  readonly #logged = new Set<string>();
  /** Calls of which it was said that not all they told could be heard. */
  readonly #leftOut = new Set<string>();

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
   * Takes the session up as the store has it. False where it does not fit the slices, and the caller chose to begin anew
   * or (`isLenient`) is about to go back to a checkpoint anyway: then what fits is taken up.
   */
  async load({ isRollingBack }: { readonly isRollingBack: boolean }): Promise<boolean> {
    const { slices } = this.session;
    const stored = await this.#store.readSession(this.session.id);
    if (slices.names.length > 0) this.#checkpointed = null;
    if (stored.length === 0) return true;
    this.#markStale(stored.filter(({ name, version }) => slices.get(name)?.version !== version));
    try {
      const { state, isMended } = this.#mending(asStored(stored), (values) => slices.restore(values));
      if (isMended) this.#markStale([...stored, ...[...slices].filter(({ name }) => state.has(name))]);
      this.#takeUp(state);
      return true;
    } catch (error) {
      if (!SnapshotRestoreError.isInstance(error) || (this.#mismatch !== "fresh" && !isRollingBack))
        throw error;
      if (this.#mismatch !== "fresh") this.#misfit = error;
      this.#markStale(stored);
      this.#takeUp(fitting(this.session, stored));
      return false;
    }
  }

  #markStale(slices: readonly StaleSlice[]): void {
    this.#stale = new Map(slices.map((slice) => [slice.name, slice]));
  }

  #takeUp(state: SessionState): void {
    this.#stored = state;
    this.session.adopt(state);
  }

  /** What does not fit is handed to the caller's own migration, where there is one. */
  #mending(
    slices: StoredSlices,
    restore: (slices: StoredSlices) => SessionState,
  ): { readonly state: SessionState; readonly isMended: boolean } {
    try {
      return { state: restore(slices), isMended: false };
    } catch (error) {
      if (!SnapshotRestoreError.isInstance(error) || typeof this.#mismatch !== "function") throw error;
      return { state: restore(this.#mismatch(slices)), isMended: true };
    }
  }

  /** The session changes with a commit: what somebody else tells it while one is made comes after that. */
  async whileHeld<T>(commit: () => Promise<T>): Promise<T> {
    const release = this.session.hold();
    try {
      return await commit();
    } finally {
      release();
    }
  }

  /** A view of the session from some state on, for a tool or for code. */
  draft(base: () => SessionState): DraftSession {
    return new DraftSession(this.session, base);
  }

  /** Most turns tell the session nothing. */
  unchanged(): PendingSession {
    return { state: this.session.state, applied: [], isMilestone: false };
  }

  /** The state after all of it, in this order; each call's events once. Throws what a reducer throws. */
  pendingAfter(told: readonly CallEvents[]): PendingSession {
    let { state } = this.session;
    let isMilestone = false;
    const applied = new Set<string>();
    for (const { origin, events } of told) {
      if (events.length === 0 || applied.has(origin)) continue;
      applied.add(origin);
      for (const event of events) {
        state = this.apply(state, origin, event);
        const after = state;
        isMilestone ||= this.#trigger.shouldCheckpoint(
          event,
          this.draft(() => after),
        );
      }
    }
    return { state, applied: [...applied], isMilestone };
  }

  /** The state after an event; of which call, null for code that tells it itself. */
  apply(state: SessionState, origin: string | null, event: SessionEvent): SessionState {
    const { slices } = this.session;
    if (origin === null) return slices.reduce(state, event);
    try {
      return slices.reduce(state, event, this.#logged.has(origin) ? "state" : null);
    } catch (error) {
      // It was told to an earlier version, or to another state. The call is not made again, so it cannot be told anew.
      if (slices.knows(event.type) && !this.#recalled.has(origin)) throw error;
      this.#leaveOut(origin, error);
      return state;
    }
  }

  /** Once: a state is computed more often than it is committed. */
  #leaveOut(origin: string, error: unknown): void {
    if (this.#leftOut.has(origin)) return;
    this.#leftOut.add(origin);
    const why = error instanceof Error ? error.message : String(error);
    this.#warn(`What ${origin} told the session does not fit it any more and was left out: ${why}`);
  }

  /** An earlier call is about to tell the session again what it told once: looks what the session still has of it. */
  async prepareReplay(origin: string): Promise<void> {
    this.#recalled.add(origin);
    if (await this.#store.isForgotten(this.session.id, origin)) this.#logged.add(origin);
  }

  /** What a commit writes of it: undefined where it changes nothing. */
  sessionCommit(
    planned: PendingSession,
    checkpoint: { readonly type: CheckpointType; readonly cursor: JsonObject } | null,
  ): SessionCommit | undefined {
    if (this.#misfit !== null) throw this.#misfit;
    const { state, applied } = planned;
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

  /** Follows a commit. */
  markCommitted({ state }: PendingSession, { hasCheckpoint }: { readonly hasCheckpoint: boolean }): void {
    if (this.#stale.size > 0) this.#stale = new Map();
    if (hasCheckpoint) this.#checkpointed = state;
    this.#stored = state;
    if (state !== this.session.state) this.session.adopt(state);
  }

  /** Whether a checkpoint of this state would hold something that the last one does not. */
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

  /** What going back to a snapshot takes; null: to the beginning. Every slice is written whole, whatever the store has. */
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
      return this.#mending(snapshot.slices, (slices) =>
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

  /** Follows the beginning of a new line of history. */
  markRolledBack({ state }: SessionRollback): void {
    this.#stale = new Map();
    this.#checkpointed = state;
    this.#misfit = null;
    this.#takeUp(state);
  }
}

type StaleSlice = Pick<StoredSlice, "name" | "kind" | "version">;

function emptied({ name, kind, version }: StaleSlice): SliceChange {
  return { name, kind, version, length: 0, items: [] };
}

function asStored(slices: readonly StoredSlice[]): StoredSlices {
  return Object.fromEntries(slices.map(({ name, version, values }) => [name, { version, values }]));
}

/** Of what is stored, the slices that fit. */
function fitting(session: Session, stored: readonly StoredSlice[]): SessionState {
  const state = new Map<string, readonly Json[]>();
  for (const slice of stored) {
    try {
      const values = session.slices.restore(asStored([slice])).get(slice.name);
      if (values !== undefined) state.set(slice.name, values);
    } catch {
      // It does not fit, and is left out.
    }
  }
  return state;
}
