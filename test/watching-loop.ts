/** The longest that the event loop was held up while something was done, and how much of that the thread was at work. */
export type Watched<T> = {
  readonly result: T;
  readonly longestBlockMs: number;
  /** Without what other processes took of the processor: the same on a machine that is busy. */
  readonly longestCpuMs: number;
};

const LOOK_EVERY_MS = 5;

export async function watchingLoop<T>(work: () => T | Promise<T>): Promise<Watched<T>> {
  let last = { wall: performance.now(), cpu: cpuMs() };
  let longestBlockMs = 0;
  let longestCpuMs = 0;
  const look = () => {
    const now = { wall: performance.now(), cpu: cpuMs() };
    longestBlockMs = Math.max(longestBlockMs, now.wall - last.wall - LOOK_EVERY_MS);
    longestCpuMs = Math.max(longestCpuMs, now.cpu - last.cpu);
    last = now;
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  try {
    const result = await work();
    look();
    return { result, longestBlockMs, longestCpuMs };
  } finally {
    clearInterval(timer);
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
