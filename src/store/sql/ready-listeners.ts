/** Intents after which a run may be ready for a worker, or must be looked at. None of them is part of a turn. */
const WAKING: ReadonlySet<string> = new Set([
  "enqueueRun",
  "wakeRun",
  "configureSchedules",
  "fireSchedule",
  "fireNow",
  "resumeSchedule",
  "sendMessage",
  "requestStop",
  "approve",
  "deny",
  "answer",
  "settle",
  "offerLateReceipt",
  "releaseRun",
  "interruptRun",
  "requestCancel",
  "requestResume",
  "forkRun",
  "finishArrival",
]);

export function mayWake(intent: string): boolean {
  return WAKING.has(intent);
}

/** Those in this process who want to know when a run may be ready. */
export class ReadyListeners {
  readonly #listeners = new Set<() => void>();
  #isCalling = false;

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls each of them once, however often it is called in a tick. */
  call(): void {
    if (this.#isCalling || this.isEmpty) return;
    this.#isCalling = true;
    setImmediate(() => {
      this.#isCalling = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
