import { ConfigurationError } from "../core/errors.ts";
import type { SessionEvent } from "../core/session-event.ts";
import type { Slice } from "./slice.ts";
import { type SessionState, type SliceSet, valuesOf } from "./slice-set.ts";

/** The values of a slice. */
export interface SliceQuery<T> {
  latest(): T | null;
  all(): readonly T[];
  where(predicate: (value: T) => boolean): readonly T[];
}

/** A session as tools, prompts and triggers see it. */
export interface SessionView {
  readonly id: string;
  readonly createdAt: number;
  readonly tags: { readonly [key: string]: string };
  query<T>(slice: Slice<T>): SliceQuery<T>;
  dispatch(event: SessionEvent): void;
}

/** Reads a slice; each query uses the current state. */
export function querySlice<T>(slices: SliceSet, slice: Slice<T>, state: () => SessionState): SliceQuery<T> {
  assertRegistered(slices, slice);
  // Its schema has checked every value, so each is a T.
  const all = () => valuesOf(state(), slice.name) as readonly T[];
  return {
    all,
    latest: () => all().at(-1) ?? null,
    where: (predicate) => all().filter(predicate),
  };
}

export function assertRegistered(slices: SliceSet, slice: Slice): void {
  const registered = slices.get(slice.name);
  if (registered === slice) return;
  const what =
    registered === undefined
      ? `The session has no slice ${slice.name}`
      : `The session's slice ${slice.name} is another one`;
  throw new ConfigurationError(`${what}: register it where the session gets its slices.`, {
    slice: slice.name,
  });
}
