import { assertJson } from "../core/canonical-json.ts";
import { ConfigurationError, SliceValueError, SnapshotRestoreError } from "../core/errors.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import type { SessionEvent } from "../core/session-event.ts";
import { frozenJson } from "./frozen-json.ts";
import { restoreSlice, type StoredSlices } from "./restore-slice.ts";
import type { Reducer, Slice, SliceKind } from "./slice.ts";
import { checkValue } from "./slice-value.ts";

export type { StoredSlices } from "./restore-slice.ts";

/**
 * The values of all slices, by name; a slice without values is absent. Immutable: an event creates a new state, in which
 * unchanged slices are the same by `===`.
 */
export type SessionState = ReadonlyMap<string, readonly Json[]>;

export const EMPTY_STATE: SessionState = new Map();

const NO_VALUES: readonly Json[] = Object.freeze([]);

export function valuesOf(state: SessionState, name: string): readonly Json[] {
  return state.get(name) ?? NO_VALUES;
}

/** An event as it is stored: a validated, frozen copy. */
export function ownEvent(event: unknown): SessionEvent {
  assertJson(event, "The event");
  if (!isJsonObject(event) || typeof event.type !== "string")
    throw new ConfigurationError(`An event needs a "type", a text: { type: "StepFinished", … }.`);
  return frozenJson(event) as SessionEvent;
}

type EventRoute = { readonly slice: Slice; readonly reducer: Reducer<unknown> };

/** The slices of a session, with the reducers that build its state from events. */
export class SliceSet implements Iterable<Slice> {
  readonly #slices = new Map<string, Slice>();
  /** The reducers of each event type; none for a type that is only listed in `eventTypes`. */
  readonly #routes = new Map<string, readonly EventRoute[]>();
  #isReducing = false;

  constructor(slices: readonly Slice[], eventTypes: readonly string[] = []) {
    for (const slice of slices) this.#register(slice);
    for (const type of eventTypes) this.#routes.set(type, this.#routes.get(type) ?? []);
  }

  get names(): readonly string[] {
    return [...this.#slices.keys()];
  }

  get eventTypes(): readonly string[] {
    return [...this.#routes.keys()];
  }

  /** True while a reducer runs: nothing may be changed meanwhile. */
  get isReducing(): boolean {
    return this.#isReducing;
  }

  get(name: string): Slice | undefined {
    return this.#slices.get(name);
  }

  [Symbol.iterator](): IterableIterator<Slice> {
    return this.#slices.values();
  }

  knows(eventType: string): boolean {
    return this.#routes.has(eventType);
  }

  /**
   * The state after an event: the same one if nothing changes. All slices accept it, or none does; with `kind`, all slices
   * of that kind.
   */
  reduce(state: SessionState, event: SessionEvent, kind: SliceKind | null = null): SessionState {
    const owned = ownEvent(event);
    const routes = this.#routes.get(owned.type);
    if (routes === undefined) throw this.#unknownEvent(owned.type);
    if (this.#isReducing)
      throw new ConfigurationError(
        `A reducer dispatched the event ${owned.type}: a reducer only returns its values, so dispatch from where the first event came from.`,
      );
    const changes = new Map<string, readonly Json[]>();
    this.#isReducing = true;
    try {
      for (const route of routes) {
        if (kind !== null && route.slice.kind !== kind) continue;
        const before = valuesOf(state, route.slice.name);
        const after = reduceSlice(route, before, owned);
        if (after !== before) changes.set(route.slice.name, after);
      }
    } finally {
      this.#isReducing = false;
    }
    return changes.size === 0 ? state : withChanges(state, changes);
  }

  /** The stored state, with every slice in its current version. All of it, or `SnapshotRestoreError`. */
  restore(stored: StoredSlices): SessionState {
    const restored = new Map<string, readonly Json[]>();
    for (const [name, storedSlice] of Object.entries(stored)) {
      const slice = this.#slices.get(name);
      if (slice === undefined) throw unknownSlice(name);
      restored.set(name, restoreSlice(slice, storedSlice));
    }
    return withChanges(EMPTY_STATE, restored);
  }

  #register(slice: Slice): void {
    assertSlice(slice);
    const known = this.#slices.get(slice.name);
    if (known === slice) return;
    if (known !== undefined)
      throw new ConfigurationError(
        `Two slices are named ${slice.name}: rename one of them, or give the same one twice.`,
        { slice: slice.name },
      );
    this.#slices.set(slice.name, slice);
    for (const [type, reducer] of Object.entries(slice.reducers))
      this.#routes.set(type, [...(this.#routes.get(type) ?? []), { slice, reducer }]);
  }

  #unknownEvent(type: string): ConfigurationError {
    const known = this.eventTypes.toSorted();
    const list = known.length === 0 ? "it knows none" : `it knows ${known.join(", ")}`;
    return new ConfigurationError(
      `The session knows no event ${JSON.stringify(type)} (${list}): give a slice a reducer for it, or name it in eventTypes.`,
      { type, known },
    );
  }
}

/** A run-time check for callers without types. */
function assertSlice(slice: unknown): void {
  const isSlice =
    typeof slice === "object" &&
    slice !== null &&
    ["name", "kind", "version", "schema", "reducers", "migrations"].every((field) => field in slice);
  if (!isSlice) throw new ConfigurationError("One of the slices is not a slice: make it with defineSlice.");
}

function unknownSlice(name: string): SnapshotRestoreError {
  return new SnapshotRestoreError(
    `The session has no slice ${JSON.stringify(name)}, and values of it are stored: define it, move them with a migration of the snapshot, or start fresh.`,
    { reason: "unknown_slice", slice: name },
  );
}

function reduceSlice(
  { slice, reducer }: EventRoute,
  before: readonly Json[],
  event: SessionEvent,
): readonly Json[] {
  const returned: unknown = reducer(before, event);
  if (!Array.isArray(returned)) {
    throw new ConfigurationError(
      `The reducer of slice ${slice.name} for ${event.type} returned ${describe(returned)}: return the list of values, at once.`,
      { slice: slice.name },
    );
  }
  // Array.from, not map: a hole is an `undefined`, and does not fit.
  const after = Array.from(returned, (value: unknown, index) =>
    acceptValue(slice, value, index, returned.length, event),
  );
  return after.length === before.length && after.every((value, index) => value === before[index])
    ? before
    : Object.freeze(after);
}

function acceptValue(slice: Slice, value: unknown, index: number, length: number, event: SessionEvent): Json {
  const checked = checkValue(slice, value, index, length);
  if (checked.ok) return checked.value;
  throw new SliceValueError(
    `The event ${event.type} would give slice ${slice.name} a value that does not fit: ${checked.path}: ${checked.why}. No part of it took effect.`,
    { slice: slice.name, path: checked.path },
  );
}

function describe(returned: unknown): string {
  if (typeof returned === "object" && returned !== null)
    return "then" in returned ? "a promise" : "an object";
  return returned === null || returned === undefined ? String(returned) : `a ${typeof returned}`;
}

function withChanges(state: SessionState, changes: SessionState): SessionState {
  const next = new Map(state);
  for (const [name, values] of changes) {
    if (values.length === 0) next.delete(name);
    else next.set(name, values);
  }
  return next;
}
