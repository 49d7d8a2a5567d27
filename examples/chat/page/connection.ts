import { useSyncExternalStore } from "react";

/** What the transport has said last about its connection. */
let isLost = false;
const listeners = new Set<() => void>();

/** For `PawlChatTransport`, which connects again by itself. */
export function onConnection(state: "lost" | "back"): void {
  isLost = state === "lost";
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** True while the transport tries to connect again. */
export function useIsLost(): boolean {
  return useSyncExternalStore(subscribe, () => isLost);
}
