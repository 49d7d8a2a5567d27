/** Numbers in [0, 1) that are the same for the same seed, on every machine (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(random: () => number, from: readonly T[]): T {
  const picked = from[Math.floor(random() * from.length)];
  if (picked === undefined) throw new Error("There is nothing to pick from.");
  return picked;
}

/** This many elements in random order; all of them if there are no more. */
export function sample<T>(random: () => number, from: readonly T[], count: number): readonly T[] {
  const left = [...from];
  if (left.length <= count) return left;
  return Array.from({ length: count }, () => {
    const [taken] = left.splice(Math.floor(random() * left.length), 1);
    return taken as T;
  });
}
