import type { SpecPath } from "../../core/job/run-spec-field.ts";

/** The position of a value in the text and of the values inside it: a field at its name, an item at its start. */
export type ValuePosition = { readonly offset: number; readonly inside: Map<string | number, ValuePosition> };

/** A mistake in the text, as opposed to its meaning. */
export type TextMistake = { readonly offset: number; readonly path: SpecPath; readonly message: string };

/** A parsed job file, not yet validated as a RunSpec. */
export type JobText =
  | { readonly readable: false; readonly mistakes: readonly TextMistake[] }
  | {
      readonly readable: true;
      readonly value: unknown;
      readonly positions: ValuePosition;
      readonly mistakes: readonly TextMistake[];
      /** Fields without a value, which YAML reads as null. */
      readonly empty: readonly SpecPath[];
    };

/** The offset of a path, or of its nearest parent that is present. */
export function offsetOf(position: ValuePosition, path: SpecPath): number {
  const [first, ...rest] = path;
  const inner = first === undefined ? undefined : position.inside.get(first);
  return inner === undefined ? position.offset : offsetOf(inner, rest);
}

export function writtenTwice(path: SpecPath, offset: number): TextMistake {
  return { path, offset, message: "is written twice: leave one of them out." };
}
