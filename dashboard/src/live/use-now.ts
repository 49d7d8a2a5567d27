import { useSyncExternalStore } from "react";
import { useLive } from "./use-live.ts";

// One clock for all times on a page: they change together, and a hidden tab does no work.

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function tick(): void {
  if (document.visibilityState === "hidden") return;
  now = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = Date.now();
    timer = setInterval(tick, 1_000);
    document.addEventListener("visibilitychange", tick);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    document.removeEventListener("visibilitychange", tick);
  };
}

/** The time of this browser, each second. */
export function useBrowserNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** The time of the server, each second: ages are right even where the clock of this browser is not. */
export function useNow(): number {
  const { skewMs } = useLive();
  return useBrowserNow() + skewMs;
}
