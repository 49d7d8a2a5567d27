/** Wall time for people and leases, monotonic time for durations, and sleep. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds since some fixed point; never decreases. */
  monotonic(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back every `ms` until the returned function is called. Keeps the process alive until then. */
  every(ms: number, callback: () => void): () => void;
  /** Calls back once, after `ms`, unless the returned function is called before. Keeps the process alive until then. */
  after(ms: number, callback: () => void): () => void;
}

/** Returns a number in [0, 1). Used for jitter only. */
export type Random = () => number;
