import type { Clock } from "../../engine/ports/clock.ts";
import type { Store } from "../../store/store.ts";

/** How often the run is looked at: another process may send it a message, or wake it. */
const LOOK_MS = 1_000;

/** This process may be ahead of the store's clock, which decides. */
const LEAST_MS = 20;

/** Waits with a run until what it waits for has come. False if the user stops waiting. */
export async function sleepAlong(
  { store, clock, signal }: { readonly store: Store; readonly clock: Clock; readonly signal: AbortSignal },
  runId: string,
): Promise<boolean> {
  for (;;) {
    await store.wakeRun(runId);
    const run = await store.getRun(runId);
    if (run?.status !== "waiting") return !signal.aborted;
    const left = run.wakeAt === null ? LOOK_MS : run.wakeAt - clock.now();
    await clock.sleep(Math.min(LOOK_MS, Math.max(LEAST_MS, left)), signal).catch(() => undefined);
    if (signal.aborted) return false;
  }
}
