/** `npm run test:full` runs all combinations (points, pairs, schedules); `npm test` runs a seeded sample. */
export const IS_FULL_TEST = process.env.PAWL_TESTS === "whole";

/** One in `oneIn`, always the same ones; all of them in the full test. */
export function sampled<T>(all: readonly T[], oneIn = 2): readonly T[] {
  return IS_FULL_TEST ? all : all.filter((_, i) => i % oneIn === SEED % oneIn);
}

const SEED = 20_261;
