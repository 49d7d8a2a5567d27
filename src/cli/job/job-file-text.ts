import type { SpecPath } from "../../core/job/run-spec-field.ts";

/** Where something stands in the text, and where what is inside it does: a field at its name, an item at its start. */
export type Place = { readonly offset: number; readonly inside: Map<string | number, Place> };

/** A mistake in the text itself, whatever it is meant to say. */
export type TextMistake = { readonly offset: number; readonly path: SpecPath; readonly message: string };

/** What a job file says, before anybody has looked whether it is a RunSpec. */
export type JobText =
  | { readonly readable: false; readonly mistakes: readonly TextMistake[] }
  | {
      readonly readable: true;
      readonly value: unknown;
      readonly places: Place;
      readonly mistakes: readonly TextMistake[];
      /** The fields with nothing behind them, which YAML takes for null. */
      readonly empty: readonly SpecPath[];
    };

/** The place of a path, or of what it would be in, where it is not written. */
export function offsetOf(place: Place, path: SpecPath): number {
  const [first, ...rest] = path;
  const inner = first === undefined ? undefined : place.inside.get(first);
  return inner === undefined ? place.offset : offsetOf(inner, rest);
}

export function writtenTwice(path: SpecPath, offset: number): TextMistake {
  return { path, offset, message: "is written twice: leave one of them out." };
}
