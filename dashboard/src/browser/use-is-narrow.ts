import { useSyncExternalStore } from "react";

const NARROW = matchMedia("(max-width: 767.9px)");

function subscribe(listener: () => void): () => void {
  NARROW.addEventListener("change", listener);
  return () => NARROW.removeEventListener("change", listener);
}

/** Below 768 pixels: rows have two lines, and what stands beside the page becomes a sheet over it. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => NARROW.matches);
}
