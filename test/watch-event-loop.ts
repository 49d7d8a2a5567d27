/** The longest time that the event loop was blocked, and how much CPU time the thread used in one interval. */
export type Watched<T> = {
  readonly result: T;
  readonly longestBlockMs: number;
  /** CPU time of this thread alone: the same on a busy machine. */
  readonly longestCpuMs: number;
};

const CHECK_EVERY_MS = 5;

export async function watchEventLoop<T>(work: () => T | Promise<T>): Promise<Watched<T>> {
  let last = { wall: performance.now(), cpu: cpuMs() };
  let longestBlockMs = 0;
  let longestCpuMs = 0;
  const check = () => {
    const now = { wall: performance.now(), cpu: cpuMs() };
    longestBlockMs = Math.max(longestBlockMs, now.wall - last.wall - CHECK_EVERY_MS);
    longestCpuMs = Math.max(longestCpuMs, now.cpu - last.cpu);
    last = now;
  };
  const timer = setInterval(check, CHECK_EVERY_MS);
  try {
    const result = await work();
    check();
    return { result, longestBlockMs, longestCpuMs };
  } finally {
    clearInterval(timer);
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
