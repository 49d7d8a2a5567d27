/** `npm run test:full` runs all combinations, and its explorer the schedules; `npm test` runs a seeded sample. */
export const IS_FULL_TEST = process.env.PAWL_TESTS === "whole";

/**
 * One in `oneIn`, always the same ones; all of them in the full test. Where tests of a file vary the same thing, a `shift`
 * lets each of them take other ones, so that every value still occurs.
 */
export function sampled<T>(all: readonly T[], oneIn = 2, shift = 0): readonly T[] {
  return IS_FULL_TEST ? all : all.filter((_, i) => (i + shift) % oneIn === SEED % oneIn);
}

/** Every second pair, as on a chessboard, so that each value of both occurs; all pairs in the full test. */
export function sampledPairs<A, B>(first: readonly A[], second: readonly B[]): (readonly [A, B])[] {
  return first.flatMap((a, i) => sampled(second, 2, i).map((b) => [a, b] as const));
}

const SEED = 20_261;
