/** The longest that the event loop was held up while something was done. */
export type Watched<T> = { readonly result: T; readonly longestBlockMs: number };

const LOOK_EVERY_MS = 5;

export async function watchingLoop<T>(work: () => T | Promise<T>): Promise<Watched<T>> {
  let last = performance.now();
  let longest = 0;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - LOOK_EVERY_MS);
    last = now;
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  try {
    const result = await work();
    look();
    return { result, longestBlockMs: longest };
  } finally {
    clearInterval(timer);
  }
}
