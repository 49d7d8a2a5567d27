const NAME = "pawl-answer";

/**
 * Reads a stream of its own while the tab is seen, and in one tab of the browser at a time: six streams would stall every other
 * request to the server. Others wait for their turn.
 */
export function readInOneTab(signal: AbortSignal, read: (signal: AbortSignal) => Promise<void>): void {
  let seen: AbortController | null = null;
  const follow = (): void => {
    if (document.visibilityState === "hidden") {
      seen?.abort();
      seen = null;
    } else if (seen === null) {
      seen = new AbortController();
      const until = AbortSignal.any([signal, seen.signal]);
      if (!("locks" in navigator)) void read(until);
      // Aborting is how waiting for the lock ends.
      else navigator.locks.request(NAME, { signal: until }, () => read(until)).catch(() => undefined);
    }
  };
  document.addEventListener("visibilitychange", follow, { signal });
  follow();
}
