import type { Store } from "../../store/store.ts";

/** The workers of this process, by store and run: each looks for requests to its run when it is asked to. */
const lookers = new WeakMap<Store, Map<string, () => void>>();

/** Registers the worker of a run. Returns a function that removes it. */
export function onLook(store: Store, runId: string, look: () => void): () => void {
  const ofStore = lookers.get(store) ?? new Map<string, () => void>();
  lookers.set(store, ofStore.set(runId, look));
  return () => {
    if (ofStore.get(runId) === look) ofStore.delete(runId);
  };
}

/** A request to the run was stored: its worker, if it is in this process, need not wait until it looks for one. */
export function lookNow(store: Store, runId: string): void {
  lookers.get(store)?.get(runId)?.();
}
